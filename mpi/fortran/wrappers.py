"""C functions that Fortran calls, from prototypes: what each parameter becomes, by its type."""
import re

from prototypes import HANDLES

# Neither C strings nor numbers tell how long the text may get.
TEXT_ROOM = {"MPI_Error_string": "MPI_MAX_ERROR_STRING",
             "MPI_Get_processor_name": "MPI_MAX_PROCESSOR_NAME",
             "MPI_Get_library_version": "MPI_MAX_LIBRARY_VERSION_STRING",
             "MPI_Info_get_nthkey": "MPI_MAX_INFO_KEY"}
BUFFERS = {"buf", "buffer", "sendbuf", "recvbuf", "inbuf", "outbuf", "inoutbuf", "location",
           "base", "baseptr"}
WEIGHTS = {"weights", "sourceweights", "destweights"}
LOGICALS = {"flag", "commute", "reorder", "periods", "remain_dims", "weighted"}
# C writes these arrays as pointers, because of the constants that may stand in their place.
ARRAYS = WEIGHTS | {"sources", "destinations"}
# Handles that the function reads before it changes them.
READS_HANDLE = re.compile(
    r"_free$|_commit$|_disconnect$|^MPI_(Wait|Test|Start|Cancel)|rrived|^MPI_I?mrecv$|^MPI_Mrecv$")
NUMBERS = {"MPI_Aint", "MPI_Count", "MPI_Offset"}


class CannotWrap(Exception):
    pass


class Part:
    """What a parameter is in C: how it is declared, what is done before and after, what is passed;
    and in Fortran: how an interface declares it."""

    def __init__(self, declared, passed, fortran, before="", after="", has_length=False):
        self.declared = declared
        self.passed = passed
        self.fortran = fortran
        self.before = before
        self.after = after
        self.has_length = has_length


def fortran_of(p, kind, shape=""):
    intent = "in" if p.is_const or p.is_value else "inout"
    return f"{kind}, intent({intent}) :: {p.name}{shape}"


def length_of(function, p):
    for name in ("count", "incount"):
        if function.has(name):
            return f"*{name}"
    if p.name == "datatypes":
        return "*max_datatypes"
    side = "send" if p.name.startswith("send") else "receive"
    among = "neighbors" if "eighbor" in function.name else "members"
    if side == "send" and among == "members":
        return ("buffer_of(sendbuf) == MPI_IN_PLACE ? 0 : "
                "fortran_members(MPI_Comm_f2c(*comm))")
    if among == "members":
        return "fortran_members(MPI_Comm_f2c(*comm))"
    return f"fortran_neighbors(MPI_Comm_f2c(*comm), {int(side == 'send')})"


def handle(function, p):
    n, convert = p.name, HANDLES[p.type]
    if p.is_value:
        return Part(f"const MPI_Fint* {n}", f"{convert}_f2c(*{n})", fortran_of(p, "integer"))
    if p.arrays:
        return handles(function, p)
    if READS_HANDLE.search(function.name):
        return Part(f"MPI_Fint* {n}", f"&c_{n}", fortran_of(p, "integer"),
                    before=f"{p.type} c_{n} = {convert}_f2c(*{n});",
                    after=f"*{n} = {convert}_c2f(c_{n});")
    return Part(f"MPI_Fint* {n}", f"&c_{n}", fortran_of(p, "integer"),
                before=f"{p.type} c_{n} = NULL;",
                after=f"if (code == MPI_SUCCESS) *{n} = {convert}_c2f(c_{n});")


def handles(function, p):
    n, convert = p.name, HANDLES[p.type]
    is_result = p.name == "datatypes" and not p.is_const
    each = f"for (int i = 0; i < n_{n}; ++i) "
    before = (f"const int n_{n} = {length_of(function, p)};\n"
              f"{p.type} few_{n}[kFew];\n"
              f"{p.type}* c_{n} = fortran_room(few_{n}, n_{n}, sizeof *c_{n});\n"
              f"{each}c_{n}[i] = " + ("NULL;" if is_result else f"{convert}_f2c({n}[i]);"))
    after = f"if (c_{n} != few_{n}) free(c_{n});"
    if is_result:
        after = (f"{each}{{\n  if (c_{n}[i] != NULL) {n}[i] = {convert}_c2f(c_{n}[i]);\n}}\n"
                 + after)
    elif not p.is_const:
        after = f"{each}{n}[i] = {convert}_c2f(c_{n}[i]);\n{after}"
    const = "const " if p.is_const else ""
    return Part(f"{const}MPI_Fint* {n}", f"c_{n}", fortran_of(p, "integer", "(*)"), before, after)


def status(function, p):
    n = p.name
    if p.is_const:
        return Part(f"const MPI_Fint* {n}", f"(const MPI_Status*){n}",
                    fortran_of(p, "integer", "(8)"))
    shape = "(8, *)" if p.arrays else "(8)"
    return Part(f"MPI_Fint* {n}", f"status_of({n})", fortran_of(p, "integer", shape))


def integer(function, p):
    n = p.name
    kind = "logical" if n in LOGICALS else "integer"
    const = "const " if p.is_const or p.is_value else ""
    if p.is_value:
        return Part(f"const MPI_Fint* {n}", f"*{n}", fortran_of(p, kind))
    if n in WEIGHTS:
        return Part(f"{const}MPI_Fint* {n}", f"weights_of({n})", fortran_of(p, kind, "(*)"))
    if p.arrays.endswith("[3]"):
        return Part(f"MPI_Fint {n}[][3]", n, fortran_of(p, kind, "(3, *)"))
    if n == "index" and not p.arrays:  # Fortran counts from 1
        return Part(f"MPI_Fint* {n}", f"&c_{n}", fortran_of(p, kind),
                    before=f"int c_{n} = MPI_UNDEFINED;",
                    after=f"*{n} = c_{n} >= 0 ? c_{n} + 1 : c_{n};")
    if n == "indices":
        return Part(f"MPI_Fint* {n}", n, fortran_of(p, kind, "(*)"),
                    before="*outcount = MPI_UNDEFINED;",
                    after=f"for (int i = 0; i < *outcount; ++i) ++{n}[i];")
    shape = "(*)" if p.arrays or n in ARRAYS else ""
    return Part(f"{const}MPI_Fint* {n}", n, fortran_of(p, kind, shape))


def number(function, p):
    const = "const " if p.is_const or p.is_value else ""
    return Part(f"{const}{p.type}* {p.name}", f"*{p.name}" if p.is_value else p.name,
                fortran_of(p, "integer(8)", "(*)" if p.arrays else ""))


def text(function, p):
    n = p.name
    if p.is_const:
        strips = int(function.name.startswith("MPI_Info_"))  # there, blanks before do not count
        return Part(f"const char* {n}", f"c_{n}", fortran_of(p, "character(len=*)"),
                    before=f"char* c_{n} = fortran_text({n}, length_{n}, {strips});",
                    after=f"free(c_{n});", has_length=True)
    room = TEXT_ROOM.get(function.name, "MPI_MAX_OBJECT_NAME")
    after = f"if (code == MPI_SUCCESS) fortran_give_text(c_{n}, {n}, length_{n});"
    if function.has("resultlen"):
        after += (f"\nif (code == MPI_SUCCESS && *resultlen > (int)length_{n}) "
                  f"*resultlen = (int)length_{n};")
    return Part(f"char* {n}", f"c_{n}", fortran_of(p, "character(len=*)"),
                before=f'char c_{n}[{room}] = "";', after=after, has_length=True)


def part_of(function, p):
    if p.type in HANDLES and p.stars <= 1:
        return handle(function, p)
    if p.type == "MPI_Status":
        return status(function, p)
    if p.type == "int" and p.stars <= 1:
        return integer(function, p)
    if p.type in NUMBERS and p.stars <= 1:
        return number(function, p)
    if p.type == "char" and p.stars + bool(p.arrays) == 1:
        return text(function, p)
    if p.name == "buffer_addr":  # the program has it: where it is cannot be said in Fortran
        return Part("void* buffer_addr", "&c_buffer_addr", "CHOICE :: buffer_addr",
                    before="void* c_buffer_addr;\n(void)buffer_addr;")
    if p.type == "void" and p.stars == 1 and p.name in BUFFERS:
        const = "const " if p.is_const else ""
        return Part(f"{const}void* {p.name}", f"buffer_of({p.name})", f"CHOICE :: {p.name}")
    raise CannotWrap(f"{function.name}: no rule for `{p.text}`")


def parts(function):
    if function.result != "int":
        raise CannotWrap(f"{function.name}: no rule for the result")
    return [part_of(function, p) for p in function.parameters]


def indented(lines):
    return "".join(f"  {line}\n" for block in lines if block for line in block.split("\n"))


def wrapper(function):
    """The C function, with all of its names."""
    name = function.name.lower()
    made = parts(function)
    declared = [part.declared for part in made] + ["MPI_Fint* ierror"]
    declared += [f"size_t length_{p.name}"
                 for p, part in zip(function.parameters, made) if part.has_length]
    passed = ", ".join(part.passed for part in made)
    body = indented([part.before for part in made])
    body += f"  const int code = {function.name}({passed});\n"
    body += indented([part.after for part in made])
    return (f"ESP_MPI_API void {name}_({', '.join(declared)}) {{\n{body}  *ierror = code;\n}}\n"
            f"FORTRAN_NAMES({name})\n")
