"""The functions of the headers have the standard's types, and the libraries have all of them; those
that are absent the ABI's one alone.

usage: functions_test.py COMPILER HEADER_FOLDER NM LIBRARY LIBRARY_OF_THE_ABI
"""
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

from standard_header import prototypes

COMPILER, FOLDER, NM, OURS, OF_THE_ABI = sys.argv[1:]
HEADERS = "".join(path.read_text() for path in pathlib.Path(FOLDER).glob("mpi*.h"))
DECLARED = set(re.findall(r"^ESP_MPI_API \w+ (MPI_\w+)\(", HEADERS, re.M))
ABSENT = set(re.findall(r"^ESP_MPI_(?:NO_[A-Z]+\(|ABSENT\(\w+, )(MPI_\w+),", HEADERS, re.M))
# The interface of tools is a library of its own, with types of its own.
OF_TOOLS = "MPI_T_"


def exported(library):
    said = subprocess.run([NM, "--dynamic", "--defined-only", "--format=posix", library],
                          capture_output=True, text=True, check=True).stdout
    return {line.split()[0] for line in said.splitlines()}


class Functions(unittest.TestCase):
    def test_there_are_many_of_both_kinds(self):
        self.assertGreater(len(DECLARED), 300)
        self.assertGreater(len(ABSENT), 150)
        self.assertFalse(DECLARED & ABSENT)

    def test_each_has_the_types_of_the_standard(self):
        standard = dict(prototypes())
        ours = {name for name in DECLARED | ABSENT if not name.startswith(OF_TOOLS)}
        self.assertFalse(ours - set(standard), "not in prototypes.txt")
        lines = "\n".join(standard[name] for name in sorted(ours))
        with tempfile.TemporaryDirectory() as scratch:
            source = pathlib.Path(scratch) / "both.c"
            source.write_text(f"#include <mpi.h>\ntypedef int MPI_Fint;\n{lines}\n")
            done = subprocess.run([*COMPILER.split(), "-fsyntax-only", f"-I{FOLDER}", source],
                                  capture_output=True, text=True)
        self.assertEqual((done.returncode, done.stderr), (0, ""))

    def test_the_library_has_all_but_the_absent_ones(self):
        self.assertFalse(DECLARED - exported(OURS))
        self.assertFalse(ABSENT & exported(OURS))

    def test_that_of_the_abi_has_the_absent_ones_too_and_not_by_the_names_for_linkers(self):
        both = {prefix + name for name in DECLARED | ABSENT for prefix in ("", "P")}
        self.assertFalse(both - exported(OF_THE_ABI))
        self.assertFalse([name for name in exported(OF_THE_ABI) if "Espalier" in name])


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
