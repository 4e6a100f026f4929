#!/usr/bin/env python3
"""Checks the sources against the house style: layers, sizes, headers, words.

usage: tidy.py [--root FOLDER] [--shrink]

The rules are the functions in RULES, each a few lines. A violation that is listed in
tests/tidy/baseline.txt, with a number at least as large, is tolerated. The baseline may only
shrink: an entry that is no longer needed, or larger than needed, fails as well, and --shrink
rewrites the file (it never adds or raises an entry).
"""
import argparse
import pathlib
import re
import sys

from cpp import code_only, functions

# All folders that hold sources, and those that make up the two libraries.
LIBRARY = ("include", "core", "shm", "net", "coll", "tags", "bootstrap", "api", "mpi")
FOLDERS = LIBRARY + ("accel", "tools", "examples", "tests", "bench")
SOURCES = {".c", ".cpp", ".h", ".hpp"}
SCRIPTS = {".py", ".sh", ".cmake", ".in", ".txt", ""}

# Which of our folders a folder may include. Missing folders (tests, bench) may include anything.
MAY_INCLUDE = {
    "include": {"include"},
    "core": {"include", "core"},
    "net": {"include", "core", "net"},
    "shm": {"include", "core", "shm"},
    "coll": {"include", "core", "coll"},
    "tags": {"include", "core", "coll", "tags"},
    "bootstrap": {"include", "core", "net", "shm", "coll", "bootstrap"},
    "api": {"include", "core", "net", "shm", "coll", "tags", "bootstrap", "api"},
    "mpi": {"include", "mpi"},
    "accel": {"include", "accel"},
    "examples": {"include", "examples"},
}
# The only files of the library that read the environment.
ENVIRONMENT = {"bootstrap/config_from_env.cpp", "bootstrap/launcher_env.cpp"}

FILE_LINES, TEST_FILE_LINES, FUNCTION_LINES, COLUMNS, README_LINES = 500, 800, 70, 100, 40


class Source:
    """A file under the root: its path, folder, text, and text without comments and strings."""

    def __init__(self, root, path):
        self.path = path.relative_to(root).as_posix()
        self.folder = self.path.split("/")[0]
        self.suffix = path.suffix
        self.text = path.read_text(encoding="utf-8", errors="replace")
        self.lines = self.text.splitlines()
        self.is_cpp = self.suffix in SOURCES
        self.has_header = path.with_suffix(".hpp").exists()
        self.is_header = self.suffix in {".h", ".hpp"}
        self.code = code_only(self.text) if self.is_cpp else ""

    def explains_itself(self):
        """Whether a reader looks here for the purpose: not in a test or beside a header."""
        return self.is_header or (self.is_cpp and self.folder != "tests" and not self.has_header)

    def numbered_code(self):
        return enumerate(self.code.splitlines(), 1)


# Each rule yields (place, number, text). The place names the violation in the baseline, so it must
# not move with unrelated edits; the number is what may only shrink.


def included_folder(source, target):
    """The folder of ours that an include names, None for a header of somebody else."""
    first = target.split("/")[0]
    if first == "espalier" or target == "mpi.h":
        return "include"
    if "/" not in target:
        return source.folder
    return first if first in FOLDERS else None


# The second measures adapters without the library, the others stand between it and the ports.
MAY_USE_VERBS = ("net/verbs/", "bench/experiments/soft_roce/", "tests/vm/queue_pairs.cpp",
                 "tests/vm/jobs/device_gone.cpp", "tests/vm/jobs/played_dma_buf.cpp")


def rule_include(source):
    allowed = MAY_INCLUDE.get(source.folder)
    for line in source.lines if source.is_cpp else []:
        found = re.match(r'\s*#\s*include\s*([<"])([^>"]+)[>"]', line)
        if not found:
            continue
        target = found.group(2)
        of_verbs = target.startswith(("infiniband/", "rdma/"))
        if of_verbs and not source.path.startswith(MAY_USE_VERBS):
            yield target, 1, f"includes <{target}>, which only net/verbs may"
        folder = included_folder(source, target) if found.group(1) == '"' else None
        if allowed and folder and folder not in allowed:
            yield target, 1, f'{source.folder}/ may not include "{target}"'


def rule_environment(source):
    if source.folder not in LIBRARY or source.path in ENVIRONMENT:
        return
    for number, line in source.numbered_code():
        for word in re.findall(r"\b(getenv|secure_getenv|setenv|putenv|unsetenv|environ)\b", line):
            yield word, 1, f"line {number}: {word} outside of {', '.join(sorted(ENVIRONMENT))}"


def rule_file_length(source):
    limit = TEST_FILE_LINES if source.folder == "tests" else FILE_LINES
    if source.is_cpp and len(source.lines) > limit:
        yield "-", len(source.lines), f"{len(source.lines)} lines, limit {limit}"


def rule_function_length(source):
    for name, first, lines in functions(source.code):
        if lines > FUNCTION_LINES:
            yield name, lines, f"line {first}: {name} has {lines} lines, limit {FUNCTION_LINES}"


def rule_line_length(source):
    long = [n for n, line in enumerate(source.lines, 1) if len(line) > COLUMNS]
    if long:
        where = ", ".join(map(str, long[:8]))
        yield "-", len(long), f"more than {COLUMNS} columns: line {where}"


def rule_header_guard(source):
    if source.is_header and not re.search(r"^#\s*(pragma once|ifndef \w+_H)", source.text, re.M):
        yield "-", 1, "neither #pragma once nor a guard"


def rule_own_header(source):
    """Compiling NAME.cpp is what shows that NAME.hpp stands alone (tests/compile)."""
    own = re.escape(pathlib.PurePosixPath(source.path).stem) + r"\.hpp"
    first = re.search(r'^#\s*include\s+([<"].*[>"])', source.text, re.M)
    if source.suffix == ".cpp" and source.has_header and first:
        if not re.fullmatch(rf'"(.*/)?{own}"', first.group(1)):
            yield "-", 1, f"includes {first.group(1)} before its own header"


def rule_file_comment(source):
    if source.explains_itself() and not source.text.lstrip().startswith(("//", "/*")):
        yield "-", 1, "does not begin with a comment that says what the file is for"


def rule_goto(source):
    for number, line in source.numbered_code():
        if re.search(r"\bgoto\b", line):
            yield "-", 1, f"line {number}: goto"


def rule_todo(source):
    if source.path.startswith("tests/tidy/"):  # names the words
        return
    for number, line in enumerate(source.lines, 1):
        for word, issue in re.findall(r"\b(TODO|FIXME|XXX)\b(\(#?\d+\))?", line):
            if word != "TODO" or not issue:
                yield "-", 1, f"line {number}: {word}: write TODO(issue number), or do it"


RULES = {name[5:].replace("_", "-"): rule
         for name, rule in list(globals().items()) if name.startswith("rule_")}


def readme_violations(root):
    """Each folder of ours explains itself in a short README.md."""
    for folder in FOLDERS:
        readme = root / folder / "README.md"
        if folder != "include" and any((root / folder).glob("*")):
            if not readme.exists():
                yield ("readme", f"{folder}/README.md", "-"), 1, "missing"
            elif len(readme.read_text().splitlines()) > README_LINES:
                yield ("readme", f"{folder}/README.md", "-"), 1, f"more than {README_LINES} lines"


def sources(root):
    paths = [p for folder in FOLDERS for p in sorted((root / folder).rglob("*"))]
    paths += [root / "run", root / "CMakeLists.txt"]
    paths += [p for folder in ("cmake", "scripts") for p in sorted((root / folder).glob("*"))]
    for path in paths:
        hidden = any(part.startswith((".", "__")) for part in path.relative_to(root).parts)
        if path.is_file() and not hidden and path.suffix in SOURCES | SCRIPTS:
            if path.stat().st_size < 1_000_000 and "data" not in path.relative_to(root).parts:
                yield Source(root, path)


def check(root):
    """{(rule, path, place): (number, text)}; the largest number where a place violates twice."""
    found = {key: (number, text) for key, number, text in readme_violations(root)}
    for source in sources(root):
        for name, rule in RULES.items():
            for place, number, text in rule(source):
                key = (name, source.path, "".join(place.split()))
                if key not in found or found[key][0] < number:
                    found[key] = (number, text)
    return found


def read_baseline(path):
    entries = {}
    for line in path.read_text().splitlines() if path.exists() else []:
        if line and not line.startswith("#"):
            rule, file, place, number = line.split()
            entries[(rule, file, place)] = int(number)
    return entries


def compare(found, baseline):
    """Messages: what is new or grew, and which entries of the baseline must shrink."""
    for (rule, file, place), (number, text) in sorted(found.items()):
        if number > baseline.get((rule, file, place), 0):
            yield f"{file}: {rule}: {text}"
    for key, tolerated in sorted(baseline.items()):
        number = found.get(key, (0, ""))[0]
        if number < tolerated:
            yield f"{key[1]}: {key[0]}: better than the baseline ({number} < {tolerated}): --shrink"


def shrink(path, found, baseline):
    kept = [line for line in path.read_text().splitlines() if line.startswith("#")]
    for key, tolerated in sorted(baseline.items()):
        number = min(tolerated, found.get(key, (0, ""))[0])
        if number:
            kept.append(" ".join((*key, str(number))))
    path.write_text("\n".join(kept) + "\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--root", type=pathlib.Path,
                        default=pathlib.Path(__file__).resolve().parents[2])
    parser.add_argument("--shrink", action="store_true")
    options = parser.parse_args()
    baseline_file = options.root / "tests/tidy/baseline.txt"
    found, baseline = check(options.root), read_baseline(baseline_file)
    if options.shrink:
        shrink(baseline_file, found, baseline)
        baseline = read_baseline(baseline_file)
    messages = list(compare(found, baseline))
    print("\n".join(messages) or "tidy")
    return 1 if messages else 0


if __name__ == "__main__":
    sys.exit(main())
