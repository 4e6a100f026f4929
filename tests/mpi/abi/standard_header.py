"""An mpi.h of the standard ABI that owes nothing to ours: values from ../abi_values.txt, functions
from prototypes.txt, and the rest in words of its own.

usage: standard_header.py OUT
"""
import pathlib
import re
import sys

HERE = pathlib.Path(__file__).parent

HANDLES = {
    "MPI_Comm": ["MPI_COMM_NULL", "MPI_COMM_WORLD", "MPI_COMM_SELF"],
    "MPI_Group": ["MPI_GROUP_NULL", "MPI_GROUP_EMPTY"],
    "MPI_Errhandler": ["MPI_ERRHANDLER_NULL", "MPI_ERRORS_ARE_FATAL", "MPI_ERRORS_ABORT",
                       "MPI_ERRORS_RETURN"],
    "MPI_Info": ["MPI_INFO_NULL", "MPI_INFO_ENV"],
    "MPI_Request": ["MPI_REQUEST_NULL"],
    "MPI_Message": ["MPI_MESSAGE_NULL", "MPI_MESSAGE_NO_PROC"],
    "MPI_Win": ["MPI_WIN_NULL"],
    "MPI_File": ["MPI_FILE_NULL"],
    "MPI_Session": ["MPI_SESSION_NULL"],
    "MPI_Op": ["MPI_OP_NULL", "MPI_SUM", "MPI_MIN", "MPI_MAX", "MPI_PROD", "MPI_BAND", "MPI_BOR",
               "MPI_BXOR", "MPI_LAND", "MPI_LOR", "MPI_LXOR", "MPI_MINLOC", "MPI_MAXLOC",
               "MPI_REPLACE", "MPI_NO_OP"],
}
POINTERS = {
    "MPI_BOTTOM": "void*",
    "MPI_IN_PLACE": "void*",
    "MPI_BUFFER_AUTOMATIC": "void*",
    "MPI_STATUS_IGNORE": "MPI_Status*",
    "MPI_STATUSES_IGNORE": "MPI_Status*",
    "MPI_UNWEIGHTED": "int*",
    "MPI_WEIGHTS_EMPTY": "int*",
    "MPI_ERRCODES_IGNORE": "int*",
    "MPI_ARGV_NULL": "char**",
    "MPI_ARGVS_NULL": "char***",
}
FUNCTIONS = {
    "MPI_COMM_": "MPI_Comm_{}_attr_function*",
    "MPI_TYPE_": "MPI_Type_{}_attr_function*",
    "MPI_WIN_": "MPI_Win_{}_attr_function*",
    "MPI_": "MPI_Comm_{}_attr_function*",
}
# Values of integers that lie among those of datatypes (512 to 1023).
NO_DATATYPES = re.compile(r"MPI_(MAX_|WIN_|BSEND_)|MPI_T_")

OPENING = """/* A header of the standard ABI, made by standard_header.py. */
#ifndef STANDARD_ABI_MPI_H
#define STANDARD_ABI_MPI_H
#include <stdint.h>
#define MPI_VERSION 5
#define MPI_SUBVERSION 0
typedef intptr_t MPI_Aint;
typedef int64_t MPI_Offset, MPI_Count;
typedef int MPI_Fint;
typedef struct { int MPI_SOURCE, MPI_TAG, MPI_ERROR, hidden[5]; } MPI_Status;
"""
CALLBACKS = """
typedef void MPI_User_function(void*, void*, int*, MPI_Datatype*);
typedef void MPI_User_function_c(void*, void*, MPI_Count*, MPI_Datatype*);
typedef int MPI_Comm_copy_attr_function(MPI_Comm, int, void*, void*, void*, int*);
typedef int MPI_Comm_delete_attr_function(MPI_Comm, int, void*, void*);
typedef int MPI_Type_copy_attr_function(MPI_Datatype, int, void*, void*, void*, int*);
typedef int MPI_Type_delete_attr_function(MPI_Datatype, int, void*, void*);
typedef int MPI_Win_copy_attr_function(MPI_Win, int, void*, void*, void*, int*);
typedef int MPI_Win_delete_attr_function(MPI_Win, int, void*, void*);
typedef MPI_Comm_copy_attr_function MPI_Copy_function;
typedef MPI_Comm_delete_attr_function MPI_Delete_function;
typedef void MPI_Comm_errhandler_function(MPI_Comm*, int*, ...);
typedef void MPI_File_errhandler_function(MPI_File*, int*, ...);
typedef void MPI_Session_errhandler_function(MPI_Session*, int*, ...);
typedef void MPI_Win_errhandler_function(MPI_Win*, int*, ...);
typedef int MPI_Datarep_extent_function(MPI_Datatype, MPI_Aint*, void*);
typedef int MPI_Datarep_conversion_function(void*, MPI_Datatype, int, void*, MPI_Offset, void*);
typedef int MPI_Datarep_conversion_function_c(void*, MPI_Datatype, MPI_Count, void*, MPI_Offset,
                                              void*);
typedef int MPI_Grequest_query_function(void*, MPI_Status*);
typedef int MPI_Grequest_free_function(void*);
typedef int MPI_Grequest_cancel_function(void*, int);
"""


def rows(path):
    """Lines without comments; one that begins with a space continues the one before."""
    text = re.sub(r"^#.*\n", "", path.read_text(), flags=re.M)
    return re.sub(r"\n +", " ", text).splitlines()


def prototypes():
    """(function, declaration) of each."""
    for row in rows(HERE / "prototypes.txt"):
        yield re.match(r"\w+ (\w+)\(", row).group(1), row + ";"


def type_of(name, value):
    """The C type of a constant; None: an integer."""
    for handle, names in HANDLES.items():
        if name in names:
            return handle
    if name in POINTERS:
        return POINTERS[name]
    if match := re.fullmatch(r"MPI_CONVERSION_FN_NULL(_C)?", name):
        return f"MPI_Datarep_conversion_function{(match.group(1) or '').lower()}*"
    if match := re.fullmatch(r"(MPI_(?:COMM_|TYPE_|WIN_)?)(NULL_COPY|DUP|NULL_DELETE)_FN", name):
        return FUNCTIONS[match.group(1)].format("delete" if "DELETE" in name else "copy")
    is_datatype = 512 <= value < 1024 and not NO_DATATYPES.match(name)
    return "MPI_Datatype" if is_datatype else None


def header():
    lines = [OPENING]
    for handle in [*HANDLES, "MPI_Datatype"]:
        lines.append(f"typedef struct {handle.replace('MPI_', 'MPI_ABI_')}* {handle};")
    lines.append(CALLBACKS)
    for row in rows(HERE.parent / "abi_values.txt"):
        name, value = row.split()
        kind = type_of(name, int(value))
        lines.append(f"#define {name} " + (f"(({kind}){value})" if kind else f"({value})"))
    lines.append("#define MPI_Comm_errhandler_fn MPI_Comm_errhandler_function")
    lines += [declaration for _, declaration in prototypes()]
    lines.append("#endif")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    pathlib.Path(sys.argv[1]).write_text(header())
