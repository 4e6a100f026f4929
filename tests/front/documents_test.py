"""README.md is short, and what documents name is there.

usage: documents_test.py SOURCE_FOLDER
"""
import pathlib
import re
import sys
import tempfile
import unittest

SOURCE = pathlib.Path(sys.argv.pop())
README_LINES = 150
# A file of ours in a code span. What is made by a build or a user is not.
NAMED = re.compile(r"`((?:docs|core|coll|net|shm|bootstrap|mpi|tools|tests|bench|cmake|scripts|"
                   r"examples|include)/[\w./-]+\.(?:md|hpp|cpp|h|py|sh|txt|svg|json))`")
LINK = re.compile(r'\]\(([^)\s]+)\)|(?:src|srcset|href)="([^"]+)"')


def documents(root):
    for path in sorted(root.rglob("*.md")):
        parts = path.relative_to(root).parts
        if not any(part.startswith((".", "build", "shared")) for part in parts[:-1]):
            yield path


def missing(root, path):
    """What a document links to or names, and is not there."""
    text = path.read_text(encoding="utf-8")
    for target in (first or second for first, second in LINK.findall(text)):
        if not re.match(r"[a-z]+:|#", target):
            if not (path.parent / target.split("#")[0]).exists():
                yield target
    for name in NAMED.findall(text):
        if re.search(r"[A-Z]{2,}_", name):
            continue  # a pattern, such as TOPIC_test.cpp
        # An include names a header from include/; a document may name its own folder's files.
        if not any((base / name).exists() for base in (root, root / "include", path.parent)):
            yield name


class Documents(unittest.TestCase):
    def test_the_readme_is_short(self):
        lines = (SOURCE / "README.md").read_text().splitlines()
        self.assertLessEqual(len(lines), README_LINES)

    def test_what_they_name_is_there(self):
        found = [f"{path.relative_to(SOURCE)}: {target}"
                 for path in documents(SOURCE) for target in missing(SOURCE, path)]
        self.assertEqual(found, [])

    def test_what_is_not_there_is_noticed(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "page.md"
            path.write_text("[a](b.md), [c](page.md#top), `docs/d.md`, <img src=\"e.svg\">, `f/g`")
            self.assertEqual(list(missing(path.parent, path)), ["b.md", "e.svg", "docs/d.md"])

    def test_the_list_of_documents_is_whole(self):
        listed = (SOURCE / "docs/README.md").read_text()
        for path in sorted((SOURCE / "docs").glob("*.md")):
            if path.name != "README.md":
                self.assertIn(f"({path.name})", listed)


if __name__ == "__main__":
    unittest.main()
