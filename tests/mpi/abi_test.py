"""abi_test.py COMPILER HEADER_FOLDER: the constants of the headers have the standard ABI's values.

The values stand in abi_values.txt. Every constant of the headers must be there, and every value
there must be in one, so that neither can be forgotten.
"""
import pathlib
import re
import subprocess
import sys
import tempfile

# What the header claims to be, which is not the ABI's: a subset of MPI 4.1.
OF_THE_SUBSET = {"MPI_VERSION", "MPI_SUBVERSION"}
LAYOUT = {
    "sizeof(MPI_Status)": 32,
    "offsetof(MPI_Status, MPI_SOURCE)": 0,
    "offsetof(MPI_Status, MPI_TAG)": 4,
    "offsetof(MPI_Status, MPI_ERROR)": 8,
    "sizeof(MPI_Aint)": 8,
    "sizeof(MPI_Offset)": 8,
    "sizeof(MPI_Count)": 8,
    "sizeof(MPI_Comm)": 8,
}


def expected_values():
    rows = (pathlib.Path(__file__).parent / "abi_values.txt").read_text().splitlines()
    return {name: int(value) for name, value in (r.split() for r in rows if r[0] != "#")}


def values_of(compiler, folder, expressions):
    lines = "".join(f'printf("%lld\\n", (long long)({e}));\n' for e in expressions)
    source = "#include <mpi.h>\n#include <stddef.h>\n#include <stdio.h>\n"
    source += f"int main(void) {{\n{lines}}}"
    with tempfile.TemporaryDirectory() as scratch:
        program = pathlib.Path(scratch) / "values"
        subprocess.run([*compiler.split(), "-w", f"-I{folder}", "-x", "c", "-", "-o", program],
                       input=source, text=True, check=True)
        printed = subprocess.run([program], capture_output=True, text=True, check=True).stdout
    return dict(zip(expressions, map(int, printed.split())))


def main():
    compiler, folder = sys.argv[1:]
    header = "".join(path.read_text() for path in pathlib.Path(folder).glob("mpi*.h"))
    names = set(re.findall(r"#define (MPI_[A-Z0-9_]+) ", header))
    names |= set(re.findall(r"\b(MPI_[A-Z0-9_]+) = ", header))
    expected = expected_values()
    unknown = names - set(expected) - OF_THE_SUBSET
    wrong = [f"{name}: no value in abi_values.txt" for name in unknown]
    wrong += [f"{name}: in no header" for name in set(expected) - names]
    expected.update(LAYOUT)
    known = sorted(set(expected) - {line.split(":")[0] for line in wrong})
    for name, value in values_of(compiler, folder, known).items():
        if value != expected[name]:
            wrong.append(f"{name} is {value}, by the ABI {expected[name]}")
    print("\n".join(sorted(wrong)) or f"{len(known)} values are those of the ABI")
    sys.exit(1 if wrong else 0)


main()
