#!/usr/bin/env python3
"""Sums up the JUnit reports of the configurations that `./run test` ran.

usage: test_summary.py FOLDER CONFIGURATION...

Lists failed tests, then what was skipped and why, then prints the closing line
`N passed, N failed, N skipped`. A configuration that did not build, or whose report is missing,
counts as one failure. Exit code 1 when anything failed, and when no test ran at all.
"""
import pathlib
import re
import sys
import xml.etree.ElementTree as xml

# googletest prints the text of GTEST_SKIP() below the place; scripts print "SKIP: reason".
REASON = re.compile(r"^SKIP: *(.+)$|: Skipped\n(.*)$", re.MULTILINE)


def why_not_run(case):
    """What ctest says of a test that it did not run, or that was skipped."""
    skipped = case.find("skipped")
    return "" if skipped is None else skipped.get("message", "")


def reason(case):
    found = REASON.search(case.findtext("system-out") or "")
    if found:
        text = (found.group(1) or found.group(2) or "").strip()
        if text:
            return text
    return f"no reason given ({why_not_run(case)})"


def read(report):
    """(passed, [(failed name, why or "")], [(skipped name, reason)]) of one report."""
    passed, failed, skipped = 0, [], []
    for case in xml.parse(report).iter("testcase"):
        name, status, why = case.get("name"), case.get("status"), why_not_run(case)
        if status == "run":
            passed += 1
        # ctest calls skipped, too, what it could not run: no executable, no file, no fixture.
        elif status == "notrun" and why.startswith("SKIP_"):
            skipped.append((name, reason(case)))
        elif status != "disabled":
            failed.append((name, why))
    return passed, failed, skipped


def collect(folder, configurations):
    passed, failed, skipped = 0, [], []
    for name in configurations:
        report = folder / f"{name}.xml"
        if (folder / f"{name}.build-failed").exists():
            failed.append((f"{name}: the build", ""))
        elif not report.exists():
            failed.append((f"{name}: the test run itself (no report)", ""))
        else:
            count, bad, left_out = read(report)
            passed += count
            failed += [(f"{name}: {test}", why) for test, why in bad]
            skipped += [(f"{name}: {test}", why) for test, why in left_out]
    return passed, failed, skipped


def lines(verdict, tests):
    """One line a test, but one for all when several have the same reason."""
    by_reason = {}
    for test, why in tests:
        by_reason.setdefault((test.split(":")[0], why) if why else test, []).append((test, why))
    for (test, why), *others in by_reason.values():
        more = f" and {len(others)} more" if others else ""
        yield f"{verdict:8} {test}{more}" + (f": {why}" if why else "")


def main():
    passed, failed, skipped = collect(pathlib.Path(sys.argv[1]), sys.argv[2:])
    print()
    for line in (*lines("FAILED", failed), *lines("skipped", skipped)):
        print(line)
    print(f"{passed} passed, {len(failed)} failed, {len(skipped)} skipped")
    if not (passed or failed or skipped):
        print("no test has such a name; 'ctest --preset release -N' lists them", file=sys.stderr)
        return 1
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
