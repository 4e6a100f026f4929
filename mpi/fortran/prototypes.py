"""The functions and constants that the headers of mpi.h declare."""
import pathlib
import re

FUNCTION = re.compile(r"ESP_MPI_API (int|double|MPI_Aint) (MPIX?_\w+)\(([^;]*)\);")
PARAMETER = re.compile(r"(?P<const>const )?(?P<type>unsigned \w+|\w+)(?P<stars>[ *]*?) ?"
                       r"(?P<name>\w+)(?P<arrays>(\[\d*\])*)$")
HANDLES = {"MPI_Comm": "MPI_Comm", "MPI_Group": "MPI_Group", "MPI_Datatype": "MPI_Type",
           "MPI_Op": "MPI_Op", "MPI_Request": "MPI_Request", "MPI_Errhandler": "MPI_Errhandler",
           "MPI_Info": "MPI_Info", "MPI_Message": "MPI_Message"}


class Parameter:
    """One of a prototype: `stars` with those of arrays, `arrays` as they are written."""

    def __init__(self, text):
        found = PARAMETER.match(" ".join(text.split()))
        self.text = text
        self.type = found["type"] if found else text
        self.name = found["name"] if found else ""
        self.is_const = bool(found and found["const"])
        self.stars = found["stars"].count("*") if found else 0
        self.arrays = found["arrays"] if found else ""
        self.is_value = self.stars == 0 and not self.arrays


class Function:
    def __init__(self, result, name, parameters):
        self.result = result
        self.name = name
        text = " ".join(parameters.split())
        self.parameters = [] if text == "void" else [Parameter(p) for p in text.split(", ")]

    def has(self, name):
        return any(p.name == name for p in self.parameters)


def headers(folder):
    paths = sorted(pathlib.Path(folder).glob("mpi*.h"))
    return "\n".join(path.read_text() for path in paths)


def functions(text):
    return [Function(*found.groups()) for found in FUNCTION.finditer(text)]


def constants(text):
    """Of numbers and handles, as numbers; what is a pointer to something is none."""
    values = {}
    number = r"#define (MPI_[A-Z0-9_]+) (?:\(\(MPI_\w+\))?(0x\w+|\d+)\)?"
    for name, value in re.findall(number, text):
        values[name] = int(value, 0)
    for name, value in re.findall(r"\b(MPI_[A-Z0-9_]+) = (-?\w+)", text):
        values[name] = int(value, 0)
    for name, other in re.findall(r"#define (MPI_[A-Z0-9_]+) (MPI_[A-Z0-9_]+)\n", text):
        values[name] = values[other]
    return {name: value for name, value in values.items() if not name.startswith("MPI_F_")}
