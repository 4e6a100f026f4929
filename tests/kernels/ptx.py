#!/usr/bin/env python3
"""Reads the kernels of devices, as the compiler made them.

usage: ptx.py PTX DEFINITIONS. There are those of reductions.def and nothing else, and no
instruction that computes other bits than the host does, or keeps data in memory of the thread.
"""
import re
import sys

FORBIDDEN = {
    r"\bfma\.|\bmad\.(rn|rz|rm|rp)?\.?f": "a product fused with a sum",
    r"\.ftz\b": "subnormals flushed to zero",
    r"\.approx\b|\.full\.f": "an approximation",
    r"\.rz\.f|\.rm\.f|\.rp\.f|\.sat\b": "another rounding",
    r"\b(ld|st)\.local|\.local\b": "memory of the thread",
    r"\bcall\b|\.extern\b": "a call",
    r"\.nc\b": "a load that does not see what the kernel has written",
    r"\b(min|max)\.f": "a minimum that loses a NaN",
    r"\b(ld|st)\.(u|s|b|f|v)": "an access to memory of unknown kind",
}
ANY_FORBIDDEN = re.compile("|".join(FORBIDDEN))  # most lines have nothing of it
# Sums and products name their rounding, or they could be fused.
ARITHMETIC = re.compile(r"^(add|sub|mul)(\.\w+)*\.f(16|32|64)\b")
# Behind the end of a word an extraction finds zeros, where a shift before it had put signs.
EXTRACTION = re.compile(r"^bfe\.[us](\d+)\s+\S+, \S+, (\d+), (\d+);")
VECTORS = re.compile(r"^(ld|st)\.global\.(v4\.[ufb]32|v2\.[ufb]64)\b")


def expected_names(definitions):
    """The kernels of reductions.def: families of types, and the operators that have them."""
    families, current = {}, None
    names = {"esp_copy_rows"}
    for line in open(definitions, encoding="utf-8"):
        if found := re.match(r"#define (ESP_\w+)\(name, op\)", line):
            current = families.setdefault(found.group(1), [])
        elif found := re.match(r"\s+ESP_REDUCTION\(name, (\w+),", line):
            current.append(found.group(1))
        elif found := re.match(r"(ESP_\w+)\((\w+), ESP_\w+\)", line):
            names |= {f"esp_{found.group(2)}_{type}" for type in families[found.group(1)]}
    return names


def complaints(name, lines):
    """Of the instructions of one kernel."""
    for line in lines:
        for pattern, what in FORBIDDEN.items() if ANY_FORBIDDEN.search(line) else ():
            if re.search(pattern, line):
                yield f"{name}: {what}: {line}"
        if ARITHMETIC.match(line) and ".rn." not in line:
            yield f"{name}: not rounded to nearest: {line}"
        found = EXTRACTION.match(line)
        if line.startswith("bfe") and (not found or
                                       int(found[2]) + int(found[3]) > int(found[1])):
            yield f"{name}: extracts what is not there: {line}"
    if {found.group(1) for line in lines if (found := VECTORS.match(line))} != {"ld", "st"}:
        yield f"{name}: does not move 16 bytes at once"


def check(ptx, names):
    """Complaints about a whole text."""
    lines = [line.split("//")[0].strip() for line in ptx.splitlines()]
    lines = [re.sub(r"^@!?%p\d+\s+", "", line) for line in lines]
    for directive in (".version 5.0", ".target sm_60", ".address_size 64"):
        if directive not in lines:
            yield f"no {directive}"
    kernels, current = {}, []
    for line in lines:
        if found := re.match(r"\.visible \.entry (\w+)\(", line):
            current = kernels.setdefault(found.group(1), [])
        current.append(line)
    for name in sorted(names ^ kernels.keys()):
        yield f"{name}: {'missing' if name in names else 'nobody asked for it'}"
    for name, body in kernels.items():
        if name in names:
            yield from complaints(name, body)


def must_find(ptx, names):
    """That it finds what is planted."""
    for old, new in ((".visible .entry esp_sum_float(", ".visible .entry esp_add_float("),
                     ("add.rn.f32", "add.f32"), ("add.rn.f32", "fma.rn.f32"),
                     ("add.rn.f32", "add.rn.ftz.f32"), ("ld.global.u8", "ld.local.u8"),
                     ("ld.global.u8", "ld.global.nc.u8"), ("ld.global.u8", "ld.u8"),
                     (", 2, 2;", ", 63, 2;"),
                     (".target sm_60", ".target sm_90"), ("cvt.rn.f16.f32", "cvt.rz.f16.f32")):
        if old not in ptx:
            yield f"there is no {old}"
        elif not any(check(ptx.replace(old, new, 1), names)):
            yield f"{new} in place of {old} is not found"


def main():
    ptx_file, definitions = sys.argv[1:]
    with open(ptx_file, encoding="ascii") as file:
        ptx = file.read()
    names = expected_names(definitions)
    found = list(check(ptx, names)) or list(must_find(ptx, names))
    print("\n".join(found[:50]) or f"{len(names)} kernels, {len(ptx)} bytes")
    sys.exit(bool(found))


if __name__ == "__main__":
    main()
