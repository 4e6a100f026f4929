#!/usr/bin/env python3
"""The library has no mutable globals: two jobs in one process must not share anything by accident.

usage: mutable_globals.py [--expect NAME] LIBRARY

Reads the symbol table: a variable in a writable section is mutable state that outlives a call.
Tables of constants with addresses in them live in .data.rel.ro, which the loader makes read-only,
and are fine. (g++ 12 puts `inline constexpr std::array name = {...}` into .data: spell out the type
of the array, and it is constant for the linker too.) With --expect the answer is turned round: NAME
must be
found (the self test).
"""
import argparse
import re
import subprocess
import sys

WRITABLE = {".data", ".bss", ".tdata", ".tbss"}
# What the compiler, the C library and the standard library put into every shared object.
NOT_OURS = re.compile(r"^(__|_?completed|_GLOBAL_|std::__ioinit|DW\.ref\.|guard variable for std::"
                      r"|fmt::|std::|typeinfo|vtable|CLI::|_edata|_end)")
# Ours, and constant once they are set. Each with its reason; the list is meant to stay short.
CONSTANT = {
    "espalier::combine_kernel(int, esp_type)::kernels": "what this CPU can do, asked once",
    "espalier::sender()::fd": "a socket to wake sleepers by, which holds nothing of a job",
}
LINE = re.compile(r"^\S+\s.{7}\s(?P<section>\S+)\s+(?P<size>[0-9a-f]+)\s+(?P<name>.+)$")


def mutable_variables(library):
    table = subprocess.run(["objdump", "--syms", "--demangle", library], check=True,
                           capture_output=True, text=True).stdout
    for line in table.splitlines():
        found = LINE.match(line)
        if not found or int(found["size"], 16) == 0:
            continue
        name = re.sub(r"^(\.hidden|\.protected) ", "", found["name"])
        is_ours = not NOT_OURS.match(name)
        is_constant = name.removeprefix("guard variable for ") in CONSTANT
        if found["section"] in WRITABLE and is_ours and not is_constant:
            yield name


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--expect", metavar="NAME")
    parser.add_argument("library")
    options = parser.parse_args()
    names = sorted(mutable_variables(options.library))
    print("\n".join(names) or "no mutable globals")
    if options.expect:
        return 0 if any(options.expect in name for name in names) else 1
    return 1 if names else 0


if __name__ == "__main__":
    sys.exit(main())
