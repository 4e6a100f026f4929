"""Just enough of C++ for the checks: code without comments and strings, and where functions are.

The function finder follows braces. A brace opens a function when the text before it, back to the
last `;`, `{` or `}`, looks like a signature (parentheses, no keyword of another kind of scope) and
no function is open already. Lambdas and local classes count as part of the function around them.
"""
import re

_SKIP = re.compile(
    r'//[^\n]*|/\*.*?\*/'                       # comments
    r'|R"([^()\\ ]*)\(.*?\)\1"'                 # raw strings
    r'|"(?:\\.|[^"\\\n])*"'                     # strings
    r"|(?<![0-9a-fA-F])'(?:\\.|[^'\\\n])+'",    # characters, but not digit separators
    re.DOTALL)
_SCOPE = re.compile(r"\b(namespace|class|struct|union|enum|concept)\b")
_NAME = re.compile(r"([~\w:]+|operator\s*[^\s(]+)\s*\(")


def code_only(text):
    """The text with comments blanked and literals emptied; lines stay where they are."""
    def blank(match):
        newlines = "\n" * match.group().count("\n")
        return newlines if match.group().startswith("/") else '""' + newlines
    return _SKIP.sub(blank, text)


def _is_signature(head):
    # An open parenthesis: the brace belongs to an argument, as in Values(Case{1}, Case{2}).
    if "(" not in head or head.count("(") != head.count(")") or head.rstrip().endswith("="):
        return False
    if _SCOPE.search(re.sub(r"<[^<>]*>", "", head.split("(")[0])):
        return False
    return bool(_NAME.search(head))


def _function_name(head):
    name = _NAME.search(head).group(1)
    # A test is known by the arguments of its macro: TEST(Suite, Case).
    return name + head[head.index("("):head.index(")") + 1] if name.isupper() else name


def functions(code):
    """Yields (name, first line, lines from the signature to the closing brace)."""
    # Directives are blanked: their braces need not balance, and they end no statement.
    code = re.sub(r"^[ \t]*#(?:\\\n|[^\n])*",
                  lambda m: "\n" * m.group().count("\n"), code, flags=re.MULTILINE)
    depth, opened_at, head, head_line, line = 0, None, "", 1, 1
    name = ""
    for token in re.findall(r"[{};]|\n|[^{};\n]+", code):
        if token == "\n":
            line += 1
            head += " "
        elif token == "{":
            depth += 1
            if opened_at is None and _is_signature(head):
                opened_at, name, first = depth, _function_name(head), head_line
            head = ""
        elif token == "}":
            if opened_at == depth:
                yield name, first, line - first + 1
                opened_at = None
            depth -= 1
            head = ""
        elif token == ";":
            # The semicolons of a for statement are inside a function, where heads do not matter.
            head = ""
        else:
            if not head.strip():
                head_line = line
            head += token
