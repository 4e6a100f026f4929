"""What stands in the cells of tables on pages: sizes and numbers."""


def size_text(size):
    for unit, name in ((1 << 20, "MiB"), (1 << 10, "KiB")):
        if size > 0 and size % unit == 0:
            return f"{size // unit} {name}"
    return f"{size} B"


def number(value):
    """Three digits or so."""
    digits = next((digits for least, digits in ((100, 0), (10, 1), (0.1, 2)) if value >= least), 3)
    return f"{value:,.{digits}f}"
