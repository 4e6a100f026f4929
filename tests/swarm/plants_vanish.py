#!/usr/bin/env python3
"""Without ESPALIER_PLANTED_BUGS planted bugs leave no trace; and each is one that the swarm knows.

Usage: plants_vanish.py SOURCE_DIR BUILD_DIR. Each source that has a plant is preprocessed as the
library's compiler does it, and again with each ESP_PLANT(number, normal, buggy) replaced by hand by
(normal). What comes out must be the same program, word for word. The numbers are those of
LISTS.
"""
import json
import pathlib
import re
import shlex
import subprocess
import sys

FOLDERS = ("core", "shm", "net", "coll", "bootstrap", "tags")
LISTS = ("swarm/bugs.cpp", "swarm/tag_bugs.cpp", "multicast/bugs.cpp")
PLANT = "ESP_PLANT("
INCLUDE = '#include "core/plant.hpp"'


def arguments(text, begin):
    """The arguments of the call whose first one begins at `begin`, and where its end is."""
    parts, depth, at = [""], 1, begin
    while depth > 0:
        char = text[at]
        depth += (char in "([{") - (char in ")]}")
        if depth == 0:
            break
        if char == "," and depth == 1:
            parts.append("")
        else:
            parts[-1] += char
        at += 1
    return parts, at + 1


def without_plants(text):
    """Line numbers stay: assertions print them."""
    text = text.replace(INCLUDE, "")
    while (at := text.find(PLANT)) >= 0:
        parts, end = arguments(text, at + len(PLANT))
        if len(parts) != 3:
            raise ValueError(f"a plant has {len(parts)} arguments: {text[at:end]}")
        normal = parts[1].strip()
        lines = "\n" * (text[at:end].count("\n") - normal.count("\n"))
        text = f"{text[:at]}({normal}){lines}{text[end:]}"
    return text


def compile_command(entry):
    words = shlex.split(entry["command"])
    while not re.search(r"(\+\+|cc|clang)[^/]*$", words[0]) or words[0].endswith("ccache"):
        words.pop(0)
    kept, skip = [], False
    for word in words:
        if skip:
            skip = False
        elif word in ("-o", "-MF", "-MT", "-MQ"):
            skip = True
        elif word not in ("-c", "-MD", entry["file"]):
            kept.append(word)
    return kept + ["-x", "c++", "-E", "-P", "-"]


def compiled(database):
    """How each source is compiled, alone or as a part of a larger unit."""
    for entry in database:
        if "swarm_planted" in entry.get("output", entry["command"]):
            continue
        unit = pathlib.Path(entry["directory"], entry["file"]).resolve()
        parts = re.findall(r'^#include "(/.*)"', unit.read_text(), re.MULTILINE)
        for source in parts if unit.name.startswith("unity_") else [unit]:
            yield pathlib.Path(source).resolve(), entry


def preprocessed(entry, path, text):
    source = f'#line 1 "{path}"\n{text}'
    done = subprocess.run(compile_command(entry), input=source.encode(), stdout=subprocess.PIPE,
                          cwd=entry["directory"], check=True)
    return b"".join(done.stdout.split())


def main():
    source = pathlib.Path(sys.argv[1]).resolve()
    database = json.loads((pathlib.Path(sys.argv[2]) / "compile_commands.json").read_text())
    library = dict(compiled(database))
    bugs = "".join((source / "tests" / name).read_text() for name in LISTS)
    described = set(re.findall(r"^ *\{(\d+), ", bugs, re.MULTILINE))
    checked, planted = 0, []
    for folder in FOLDERS:
        for path in sorted((source / folder).rglob("*.?pp")):
            text = path.read_text()
            if path == source / "core/plant.hpp" or PLANT not in text:
                continue
            if path.suffix != ".cpp":
                print(f"{path}: plants belong into .cpp files")
                return 1
            plain = without_plants(text)
            entry = library[path]
            if preprocessed(entry, path, text) != preprocessed(entry, path, plain):
                print(f"{path}: the program differs from one without plants")
                return 1
            checked += 1
            planted += re.findall(re.escape(PLANT) + r"\s*(\d+)", text)
    for number in sorted(described.symmetric_difference(planted)):
        print(f"bug {number} is {'not planted' if number in described else 'not in the lists'}")
    print(f"{len(planted)} plants in {checked} files leave no trace")
    return 0 if planted and described == set(planted) else 1


if __name__ == "__main__":
    sys.exit(main())
