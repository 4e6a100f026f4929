#!/usr/bin/env python3
"""Makes a source of the library from kernels in PTX.

usage: embed.py PTX CPP. The source has kernel_texts() (kernel_ptx.hpp): each entry of the PTX as a
module of its own, without comments and indentation.
"""
import re
import sys

HEADER = """// Written by core/device/kernels/embed.py.
#include "core/device/kernels/kernel_ptx.hpp"

namespace espalier::device {
namespace {

using std::string_view_literals::operator""sv;

constexpr KernelText kTexts[] = {
"""
FOOTER = """};

}  // namespace

std::span<const KernelText> kernel_texts() noexcept {
  return kTexts;
}

}  // namespace espalier::device
"""


def modules(ptx):
    """{name: module}. What stands outside of entries must be no more than the directives."""
    lines = [line.split("//")[0].strip() for line in ptx.splitlines()]
    text = "\n".join(line for line in lines if line) + "\n"
    entry = re.compile(r"^\.visible \.entry (\w+)\(\n.*?^\}\n", re.M | re.S)
    directives = entry.sub("", text)
    if not re.fullmatch(r"\.version \S+\n\.target \w+\n\.address_size 64\n", directives):
        sys.exit(f"embed.py: more than entries: {directives[:500]}")
    return {found.group(1): directives + found.group(0) for found in entry.finditer(text)}


def main():
    source, target = sys.argv[1:]
    with open(source, encoding="ascii") as file:
        texts = modules(file.read())
    with open(target, "w", encoding="ascii") as file:
        file.write(HEADER)
        for name, text in texts.items():
            file.write(f'    {{"{name}"sv, R"ptx({text})ptx"sv}},\n')
        file.write(FOOTER)


if __name__ == "__main__":
    main()
