#!/usr/bin/env python3
"""tests/left_to_all.txt, against the tests that a build folder has.

usage: left_out_test.py SOURCE_FOLDER BUILD_FOLDER

An expression that matches nothing leaves nothing out: its tests were renamed. And what proves that
the other tests can fail is never left out.
"""
import pathlib
import re
import subprocess
import sys

NEVER = ("swarm.planted_bugs", "swarm.plants_vanish", "swarm.seeds", "tidy.self_test",
         "tidy.no_mutable_globals_self_test", "scripts.run")


def table(source):
    for line in (source / "tests/left_to_all.txt").read_text(encoding="utf-8").splitlines():
        if line and not line.startswith("#"):
            where, pattern, *_ = line.split(maxsplit=2)
            yield where, pattern


def main():
    source, build = map(pathlib.Path, sys.argv[1:])
    listed = subprocess.run(["ctest", "--show-only"], cwd=build, stdout=subprocess.PIPE, text=True,
                            check=True).stdout
    tests = re.findall(r"^ *Test +#\d+: (\S+)", listed, re.MULTILINE)
    if "bench.driver" not in tests:
        print("SKIP: a build without benchmarks has not all tests")
        return 77
    wrong = 0
    for where, pattern in table(source):
        found = [test for test in tests if re.search(pattern, test)]
        if not found:
            print(f"{where} {pattern}: no test has such a name")
            wrong += 1
        for test in found if where in ("each", "release") else []:
            if test in NEVER:
                print(f"{pattern} leaves {test} out")
                wrong += 1
    print(f"{len(tests)} tests")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
