"""bindings_test.py HEADERS LIBRARY MPIF VALUES: the Fortran bindings are complete.

Every function of the headers is in the library by its four names, or stands in left_out.txt; the
library has nothing else. Every constant of VALUES that is a number or handle is in mpif.h, with its
value; lengths of texts are one less, because Fortran has no terminating zero.
"""
import pathlib
import re
import subprocess
import sys

LEFT_OUT = pathlib.Path(__file__).parent / "left_out.txt"
# Of C alone: small pointers in place of addresses, and where a status of Fortran has its fields.
ADDRESSES = re.compile(r"MPI_(BOTTOM|IN_PLACE|STATUS(ES)?_IGNORE|UNWEIGHTED|WEIGHTS_EMPTY|F_.*|"
                       r"BUFFER_AUTOMATIC|ERRCODES_IGNORE|ARGVS?_NULL|.*_FN(_NULL(_C)?)?)$")
PROCEDURES = {"mpi_null_copy_fn", "mpi_null_delete_fn", "mpi_dup_fn"}
PROCEDURES |= {f"mpi_{kind}_{name}_fn" for kind in ("comm", "type")
               for name in ("null_copy", "null_delete", "dup")}


def exported(library):
    table = subprocess.run(["nm", "--dynamic", "--defined-only", "--format=posix", library],
                           capture_output=True, text=True, check=True).stdout
    return {line.split()[0] for line in table.splitlines()}


def wrong_functions(headers, library):
    patterns = [line.split()[0] for line in LEFT_OUT.read_text().splitlines() if line[0] != "#"]
    names = set(re.findall(r"^ESP_MPI_API [^;(]*\b(MPIX?_\w+)\(", headers, re.M))
    bound = {name for name in names if not any(re.fullmatch(p, name) for p in patterns)}
    expected = {name.lower() for name in bound} | PROCEDURES
    have = exported(library)
    for name in sorted(expected):
        for symbol in (f"{name}_", f"{name}__", f"p{name}_", f"p{name}__"):
            if symbol not in have:
                yield f"{symbol}: not in the library"
    known = {f"{p}{name}{end}" for name in expected for p in ("", "p") for end in ("_", "__")}
    for symbol in sorted(have - known):
        if not symbol.startswith("mpiesp"):
            yield f"{symbol}: of no function in the headers"


def wrong_constants(mpif, values):
    have = {name: int(value) for name, value in
            re.findall(r"parameter \((MPI_\w+)=(-?\d+)\)", mpif)}
    for line in values.splitlines():
        name, value = line.split()[:2]
        if name == "#" or ADDRESSES.match(name):
            continue
        wanted = int(value) - name.startswith("MPI_MAX_")
        if have.get(name) != wanted:
            yield f"{name} is {have.get(name)} in mpif.h, not {wanted}"


def main():
    folder, library, mpif, values = sys.argv[1:]
    headers = "".join(path.read_text() for path in pathlib.Path(folder).glob("mpi*.h"))
    lines = pathlib.Path(mpif).read_text().splitlines()
    wrong = [f"mpif.h: not between columns 7 and 72: {line}" for line in lines
             if len(line) > 72 or (line[0] != "!" and line[:6] != " " * 6)]
    wrong += wrong_functions(headers, library)
    wrong += wrong_constants("\n".join(lines), pathlib.Path(values).read_text())
    print("\n".join(wrong) or f"{len(lines)} lines of mpif.h, all functions are there")
    sys.exit(1 if wrong else 0)


main()
