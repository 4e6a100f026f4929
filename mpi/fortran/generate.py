#!/usr/bin/env python3
"""generate.py HEADERS OUTPUT: the Fortran bindings of mpi.h.

Writes into OUTPUT wrappers.c (what Fortran calls), mpif.h and mpi.f90 (what it compiles), from the
prototypes and constants in HEADERS. Functions whose parameters have no rule are written by hand:
their interfaces are in by_hand.f90, the C functions beside it. What has neither is named in the
output, and a test fails.
"""
import pathlib
import re
import sys
import textwrap

import prototypes
import wrappers

HERE = pathlib.Path(__file__).parent
# No Fortran: conversions of handles are for C, counts of 64 bits are in mpi_f08, MPI_T is C.
LEFT_OUT = re.compile(r"_(c2f|f2c|toint|fromint|c|x)$|^MPI_T_|^MPIX_Parrived_any$")
KEEPS_X = {"MPI_Type_size_x", "MPI_Type_get_extent_x", "MPI_Type_get_true_extent_x",
           "MPI_Get_elements_x", "MPI_Status_set_elements_x"}
# Of texts that Fortran gets no byte is for a terminating zero.
LONGEST = re.compile(r"^MPI_MAX_")
FORTRAN_CONSTANTS = {"MPI_STATUS_SIZE": 8, "MPI_SOURCE": 1, "MPI_TAG": 2, "MPI_ERROR": 3,
                     "MPI_ADDRESS_KIND": 8, "MPI_COUNT_KIND": 8, "MPI_OFFSET_KIND": 8,
                     "MPI_INTEGER_KIND": 4}
# Known by their addresses, in the order of special.h.
SPECIAL = ["MPI_BOTTOM", "MPI_IN_PLACE", "MPI_BUFFER_AUTOMATIC", "MPI_UNWEIGHTED(1)",
           "MPI_WEIGHTS_EMPTY(1)", "MPI_ERRCODES_IGNORE(1)", "MPI_STATUS_IGNORE(8)",
           "MPI_STATUSES_IGNORE(8,1)"]
CALLBACKS = ["MPI_NULL_COPY_FN", "MPI_NULL_DELETE_FN", "MPI_DUP_FN", "MPI_COMM_NULL_COPY_FN",
             "MPI_COMM_NULL_DELETE_FN", "MPI_COMM_DUP_FN", "MPI_TYPE_NULL_COPY_FN",
             "MPI_TYPE_NULL_DELETE_FN", "MPI_TYPE_DUP_FN"]
FUNCTIONS = [(kind, prefix + name) for prefix in ("", "P")
             for kind, name in (("double precision", "MPI_WTIME"),
                                ("double precision", "MPI_WTICK"),
                                ("integer*8", "MPI_AINT_ADD"), ("integer*8", "MPI_AINT_DIFF"))]
CHOICE = "type(*), dimension(*)"


def declared_constants(text):
    """Lines that are Fortran of both forms: columns 7 to 72, nothing continued."""
    values = {name: value - bool(LONGEST.match(name))
              for name, value in prototypes.constants(text).items()}
    values.update(FORTRAN_CONSTANTS)
    for name in sorted(values):
        yield f"      integer {name}"
        yield f"      parameter ({name}={values[name]})"
    for name in ("MPI_SUBARRAYS_SUPPORTED", "MPI_ASYNC_PROTECTS_NONBLOCKING"):
        yield f"      logical {name}"
        yield f"      parameter ({name}=.false.)"
    for name in SPECIAL:
        yield f"      integer {name}"
    for name in SPECIAL:
        yield f"      common /MPIESPSPECIAL/ {name.split('(')[0]}"
    for name in CALLBACKS:
        yield f"      external {name}"


def mpif(text):
    lines = ["! mpif.h: MPI's constants, for free and fixed form. Generated."]
    lines += declared_constants(text)
    for kind, name in FUNCTIONS:
        lines += [f"      {kind} {name}", f"      external {name}"]
    return "\n".join(lines) + "\n"


def interface(function):
    made = wrappers.parts(function)
    names = [p.name for p in function.parameters] + ["ierror"]
    name = function.name
    head = " &\n          ".join(textwrap.wrap(f"subroutine {name}({', '.join(names)})", 90))
    lines = [head]
    for p, part in zip(function.parameters, made):
        if part.fortran.startswith("CHOICE"):
            lines.append(f"  {CHOICE} :: {p.name}")
            lines.append(f"  !GCC$ ATTRIBUTES NO_ARG_CHECK :: {p.name}")
        else:
            lines.append("  " + part.fortran)
    lines += ["  integer, intent(out) :: ierror", f"end subroutine {name}"]
    return "".join(f"    {line}\n" for line in lines)


def sizeof_interfaces():
    """MPI_SIZEOF of variables of any rank: C functions, one for each size."""
    kinds = [(f"{kind}({bytes})", bytes) for kind in ("integer", "logical")
             for bytes in (1, 2, 4, 8, 16)]
    kinds += [(f"real({kind})", size) for kind, size in ((4, 4), (8, 8), (10, 16), (16, 16))]
    kinds += [(f"complex({kind})", size) for kind, size in ((4, 8), (8, 16), (10, 32), (16, 32))]
    yield "  interface MPI_SIZEOF\n"
    for kind, size in kinds:
        name = "mpiespsizeof" + re.sub(r"\W", "", kind)
        yield (f"    subroutine {name}(x, size, ierror)\n      {kind}, dimension(..) :: x\n"
               f"      integer, intent(out) :: size, ierror\n    end subroutine {name}\n")
    yield "  end interface MPI_SIZEOF\n"


def module(text, generated):
    made = ["! mpi.f90: the module mpi. Generated.\n", "module mpi\n  implicit none\n"]
    made += [f"{line}\n" for line in declared_constants(text)]
    made.append("  interface\n")
    made += [interface(function) for function in generated]
    by_hand = (HERE / "by_hand.f90").read_text().replace("CHOICE", CHOICE)
    made += ["  end interface\n", by_hand]
    made += list(sizeof_interfaces())
    made.append("end module mpi\n")
    return "".join(made)


def is_left_out(name):
    return bool(LEFT_OUT.search(name)) and name not in KEEPS_X


def by_hand_names():
    text = (HERE / "by_hand.f90").read_text()
    return set(re.findall(r"^\s*(?:subroutine|.* function|function) (MPIX?_\w+)\(", text, re.M))


def main():
    folder, output = sys.argv[1], pathlib.Path(sys.argv[2])
    text = prototypes.headers(folder)
    by_hand = {name.lower() for name in by_hand_names()}
    generated, c = [], ["/* Generated by generate.py. */\n", '#include "mpi/fortran/binding.h"\n']
    for function in prototypes.functions(text):
        if is_left_out(function.name) or function.name.lower() in by_hand:
            continue
        try:
            c.append(wrappers.wrapper(function))
            generated.append(function)
        except wrappers.CannotWrap as problem:
            print(f"no Fortran binding of {problem}")
    output.mkdir(parents=True, exist_ok=True)
    (output / "wrappers.c").write_text("\n".join(c))
    (output / "mpif.h").write_text(mpif(text))
    (output / "mpi.f90").write_text(module(text, generated))


if __name__ == "__main__":
    main()
