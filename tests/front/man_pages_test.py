"""Each option that `PROGRAM --help` prints has an entry in the manual page, and the reverse.

usage: man_pages_test.py MAN_FOLDER PROGRAM...
"""
import pathlib
import re
import subprocess
import sys
import unittest

FOLDER = pathlib.Path(sys.argv[1])
PROGRAMS = [pathlib.Path(name) for name in sys.argv[2:]]
# -n, --ranks, --show:compile; not the minus signs inside words.
OPTION = re.compile(r"(?<![\w-])--?[a-zA-Z][\w:-]*")
SECTIONS = ("NAME", "SYNOPSIS", "DESCRIPTION", "OPTIONS", "SEE ALSO")
REQUESTS = {"TH", "SH", "SS", "TP", "PP", "B", "I", "BR", "IR", "br", "nf", "fi"}


def page_of(program):
    text = (FOLDER / f"{program}.1").read_text()
    found = re.fullmatch(r"\.so man1/(.+)\.1\n", text)
    return page_of(found.group(1)) if found else text


def options_of_page(text):
    """The options in the headings of the entries below OPTIONS."""
    section = re.search(r"^\.SH OPTIONS\n(.*?)^\.SH ", text, re.M | re.S).group(1)
    headings = re.findall(r"^\.TP\n(.*)\n", section, re.M)
    return {name for line in headings for name in OPTION.findall(line.replace("\\-", "-"))}


def options_of_help(text):
    """The options that lines begin with, up to what stands for their value."""
    found = set()
    for line in text.splitlines():
        heading = re.match(r"\s+((--?[a-zA-Z][\w:-]*)(,\s*--?[a-zA-Z][\w-]*)*)", line)
        found |= set(OPTION.findall(heading.group(1))) if heading else set()
    return found


class ManPages(unittest.TestCase):
    def test_options_are_those_of_the_help(self):
        for path in PROGRAMS:
            with self.subTest(path.name):
                said = subprocess.run([path, "--help"], capture_output=True, text=True, check=True)
                self.assertEqual(options_of_page(page_of(path.name)), options_of_help(said.stdout))

    def test_each_page_has_the_usual_sections_and_simple_requests(self):
        for path in PROGRAMS:
            with self.subTest(path.name):
                text = page_of(path.name)
                self.assertEqual([name for name in re.findall(r"^\.SH (.*)$", text, re.M)
                                  if name in SECTIONS], list(SECTIONS))
                self.assertLessEqual(set(re.findall(r"^[.'](\w+)", text, re.M)), REQUESTS)

    def test_differences_are_noticed(self):
        page = ".SH OPTIONS\n.TP\n.B \\-n N, \\-\\-ranks N\nText \\-\\-other.\n.SH SEE ALSO\n"
        self.assertEqual(options_of_page(page), {"-n", "--ranks"})
        said = "Usage: a [options]\n  -n,--ranks INT=1   as --old did\n  --map a|b\n" \
               "      one-two\n  --show:link  prints\n"
        self.assertEqual(options_of_help(said), {"-n", "--ranks", "--map", "--show:link"})


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
