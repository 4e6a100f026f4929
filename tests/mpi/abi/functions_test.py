"""The functions of the headers have the standard's types, and the libraries have all of them but
those that are absent.

usage: functions_test.py COMPILER HEADER_FOLDER NM LIBRARY...
"""
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

from standard_header import prototypes

COMPILER, FOLDER, NM, *LIBRARIES = sys.argv[1:]
HEADERS = "".join(path.read_text() for path in pathlib.Path(FOLDER).glob("mpi*.h"))
DECLARED = set(re.findall(r"^ESP_MPI_API \w+ (MPI_\w+)\(", HEADERS, re.M))
ABSENT = set(re.findall(r"^ESP_MPI_(?:NO_[A-Z]+\(|ABSENT\(\w+, )(MPI_\w+),", HEADERS, re.M))
# The interface of tools is a library of its own, with types of its own.
OF_TOOLS = "MPI_T_"


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

    def test_libraries_have_all_but_the_absent_ones(self):
        for library in LIBRARIES:
            said = subprocess.run([NM, "--dynamic", "--defined-only", "--format=posix", library],
                                  capture_output=True, text=True, check=True).stdout
            exported = {line.split()[0] for line in said.splitlines()}
            self.assertFalse(DECLARED - exported, f"not in {library}")
            self.assertFalse(ABSENT & exported, f"absent, but in {library}")


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
