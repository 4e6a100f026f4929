"""profile_test.py HEADER_FOLDER LIBRARY: every MPI_X that the headers declare is PMPI_X, too.

mpi_profile.h must name each of them once, and the library must have both as one function. With
--write in place of the library the header's list is written anew.
"""
import pathlib
import re
import subprocess
import sys

LIST = re.compile(r"(/\* clang-format off \*/\n).*?(/\* clang-format on \*/\n)", re.S)


def declared(folder):
    text = "".join(path.read_text() for path in folder.glob("mpi*.h"))
    return sorted(re.findall(r"^ESP_MPI_API [^;(]*?\b(MPIX?_\w+)\(", text, re.M))


def lines_of(names):
    lines = [""]
    for name in names:
        entry = f"ESP_MPI_PROFILED({name})"
        if lines[-1] and len(lines[-1]) + 1 + len(entry) > 100:
            lines.append("")
        lines[-1] += (" " if lines[-1] else "") + entry
    return "".join(line + "\n" for line in lines)


def symbols(library):
    table = subprocess.run(["readelf", "--dyn-syms", "--wide", library], capture_output=True,
                           text=True, check=True).stdout
    rows = (line.split() for line in table.splitlines())
    return {row[7].split("@")[0]: (row[1], row[3], row[4]) for row in rows if len(row) == 8}


def main():
    folder, library = pathlib.Path(sys.argv[1]), sys.argv[2]
    header = folder / "mpi_profile.h"
    names = declared(folder)
    if library == "--write":
        header.write_text(LIST.sub(rf"\g<1>{lines_of(names)}\g<2>", header.read_text()))
        return
    profiled = re.findall(r"ESP_MPI_PROFILED\((MPI\w+)\)", header.read_text())
    wrong = [f"{name}: not in mpi_profile.h (profile_test.py --write)"
             for name in set(names) - set(profiled)]
    wrong += [f"{name}: in mpi_profile.h alone" for name in set(profiled) - set(names)]
    wrong += [f"{name}: twice" for name in names if profiled.count(name) > 1]
    known = symbols(library)
    for name in names:
        plain, other = known.get(name), known.get("P" + name)
        if plain is None or plain[1:] != ("FUNC", "GLOBAL") or other != plain:
            wrong.append(f"{name} is {plain}, P{name} {other}")
    print("\n".join(sorted(wrong)) or f"{len(names)} functions have both names")
    sys.exit(1 if wrong else 0)


main()
