#!/usr/bin/env python3
"""Which tests `./run test` runs: those that tests/left_to_all.txt does not leave to `all`.

usage: wanted_tests.py PRESET

Prints their places as ctest's --tests-information takes them: the table's expressions are more
than its --exclude-regex takes. Called in the source folder, after the build.
"""
import re
import subprocess
import sys


def main():
    preset, = sys.argv[1:]
    left, only = [], []
    with open("tests/left_to_all.txt", encoding="utf-8") as table:
        for line in table:
            where, pattern, *_ = [*line.split(maxsplit=2), "", ""]
            if where in ("each", preset):
                left.append(re.compile(pattern))
            elif where == f"{preset}-only":
                only.append(re.compile(pattern))
    listed = subprocess.run(["ctest", "--preset", preset, "--show-only"], stdout=subprocess.PIPE,
                            text=True, check=True).stdout
    names = re.findall(r"^ *Test +#\d+: (\S+)", listed, re.MULTILINE)
    # ctest counts the tests that the preset lets through, and not by the numbers that it shows.
    numbers = [str(at) for at, name in enumerate(names, start=1)
               if not any(one.search(name) for one in left)
               and (not only or any(one.search(name) for one in only))]
    # No test begins or ends a range; 0 of each.
    print(",".join(["0,0,0", *(numbers or ["0"])]))


if __name__ == "__main__":
    main()
