#!/usr/bin/env python3
"""Runs tests in a guest with Soft-RoCE, and reports their cases one by one.

usage: vm_tests.py guest FOLDER PROGRAM   boots a guest, runs all cases there, keeps the output in
                                          FOLDER (ESPALIER_VM_FILTER: as --gtest_filter)
       vm_tests.py jobs FOLDER SCRIPT PROGRAMS    the same for jobs.sh, on 8 nodes
       vm_tests.py case FOLDER PROGRAM --gtest_filter=CASE   how that case went
       vm_tests.py case FOLDER PROGRAM --gtest_list_tests    runs the program itself

A guest takes seconds to boot, so there is one for all. It runs no case whose test ctest leaves out
(TESTS_LEFT_OUT, a regular expression). Exit code 77 with "SKIP: reason": not run.
"""
import os
import pathlib
import re
import subprocess
import sys

# Less than the limits of the tests, by the 270 that a third guest may take to be up.
SECONDS, SECONDS_OF_JOBS = 720, 840
RXE_RUN = pathlib.Path(__file__).with_name("rxe-run")


def in_guest(nodes, seconds, *command):
    return [RXE_RUN, "--nodes", str(nodes), "--timeout", str(seconds), "--", *command]


def names_of(program):
    """The cases of a googletest program, or of jobs.sh."""
    if pathlib.Path(program).suffix == ".sh":
        text = pathlib.Path(program).read_text(encoding="utf-8")
        return ["Jobs." + name for name in re.findall(r"^job_([a-z0-9_]+)\(\)", text, re.MULTILINE)]
    listed = subprocess.run([program, "--gtest_list_tests"], stdout=subprocess.PIPE, text=True,
                            check=True).stdout
    names, suite = [], ""
    for line in listed.splitlines():
        name = line.split("#")[0].rstrip()
        if line.startswith("  "):
            names.append(suite + name.strip())
        else:
            suite = name
    return names


def cases(program):
    """Those to run, as googletest's filter."""
    left_out = os.environ.get("TESTS_LEFT_OUT")
    if "ESPALIER_VM_FILTER" in os.environ or not left_out:
        return os.environ.get("ESPALIER_VM_FILTER", "*")
    return ":".join(name for name in names_of(program) if not re.search(left_out, "vm." + name))


def googletest(program):
    return in_guest(4, SECONDS, program, "--gtest_filter=" + cases(program))


def run(folder, command):
    """Runs all cases; the exit code says whether they were run, not how they went."""
    log = folder / "guest.log"
    log.unlink(missing_ok=True)
    with log.open("w", encoding="utf-8", errors="replace") as output:
        code = subprocess.run(command, stdout=output, stderr=subprocess.STDOUT,
                              check=False).returncode
    text = log.read_text(encoding="utf-8", errors="replace")
    skipped = re.search(r"^SKIP: .*", text, re.MULTILINE)
    if code == 77 and skipped:
        print(skipped.group())
        return 77
    print(text if code not in (0, 1) else "\n".join(text.splitlines()[-5:]))
    if code in (0, 1) and "[==========]" in text:
        return 0
    print(f"the guest's output ends early (code {code})")
    return 1


def case(folder, name):
    """Prints what the case said in the guest; 0: passed, 77: skipped."""
    log = folder / "guest.log"
    text = log.read_text(encoding="utf-8", errors="replace") if log.exists() else ""
    skipped = re.search(r"^SKIP: .*", text, re.MULTILINE)
    begin = text.find(f"[ RUN      ] {name}\n")
    if begin < 0 and skipped:
        print(skipped.group())
        return 77
    if begin < 0 and "ESPALIER_VM_FILTER" in os.environ:
        print("SKIP: left out by ESPALIER_VM_FILTER")
        return 77
    if begin < 0:
        print("the guest ended before this case")
        return 1
    end = re.compile(rf"^\[ +(OK|FAILED|SKIPPED) +\] {re.escape(name)}[ ,].*$", re.MULTILINE)
    found = end.search(text, begin)
    print(text[begin:found.end() if found else len(text)])
    if not found:
        print("the guest ended in this case")
    return {"OK": 0, "SKIPPED": 77}.get(found.group(1) if found else "", 1)


def main():
    mode, folder, program, *options = sys.argv[1:]
    if mode == "guest":
        return run(pathlib.Path(folder), googletest(program))
    if mode == "jobs":
        os.environ["ESPALIER_VM_FILTER"] = cases(program)
        return run(pathlib.Path(folder), in_guest(8, SECONDS_OF_JOBS, program, *options))
    names = [option[len("--gtest_filter="):] for option in options
             if option.startswith("--gtest_filter=")]
    if not names:
        os.execv(program, [program, *options])
    return case(pathlib.Path(folder), names[0])


if __name__ == "__main__":
    sys.exit(main())
