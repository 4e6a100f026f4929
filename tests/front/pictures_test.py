"""The pictures of README.md are what scripts/pictures.py draws, and show every published cell.

usage: pictures_test.py SOURCE_FOLDER
"""
import json
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
import xml.etree.ElementTree

SOURCE = pathlib.Path(sys.argv.pop())
RESULTS = ("comparison.json", "nodes_tcp.json")


class Pictures(unittest.TestCase):
    def setUp(self):
        """A copy of what the script reads and writes."""
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name)
        for part in ("scripts", "docs/pictures"):
            shutil.copytree(SOURCE / part, self.root / part)
        (self.root / "docs/results").mkdir()
        for name in RESULTS:
            shutil.copy(SOURCE / "docs/results" / name, self.root / "docs/results")

    def draw(self, *arguments):
        return subprocess.run([sys.executable, "-B", self.root / "scripts/pictures.py", *arguments],
                              capture_output=True, text=True)

    def test_the_committed_files_are_what_the_script_draws(self):
        done = self.draw("--check")
        self.assertEqual(done.returncode, 0, done.stderr)

    def test_a_changed_figure_is_noticed(self):
        path = self.root / "docs/results/comparison.json"
        report = json.loads(path.read_text())
        report["cells"][3]["ratio"] *= 1.2
        path.write_text(json.dumps(report))
        done = self.draw("--check")
        self.assertEqual(done.returncode, 1)
        self.assertIn("docs/pictures/comparison-dark.svg", done.stderr)
        self.assertNotIn("idea", done.stderr)
        self.assertEqual(self.draw().returncode, 0)
        self.assertEqual(self.draw("--check").returncode, 0)

    def test_a_changed_or_missing_picture_is_noticed(self):
        (self.root / "docs/pictures/idea-dark.svg").unlink()
        light = self.root / "docs/pictures/idea-light.svg"
        light.write_text(light.read_text().replace("rank", "thing"))
        done = self.draw("--check")
        self.assertEqual(done.returncode, 1)
        self.assertIn("idea-light.svg, docs/pictures/idea-dark.svg", done.stderr.replace(
            "docs/pictures/idea-light.svg", "idea-light.svg"))

    def test_the_axis_reaches_every_figure(self):
        path = self.root / "docs/results/nodes_tcp.json"
        report = json.loads(path.read_text())
        report["cells"][0]["ratio"], report["cells"][1]["ratio"] = 7.5, 0.06
        path.write_text(json.dumps(report))
        self.assertEqual(self.draw().returncode, 0)
        text = (self.root / "docs/pictures/comparison-dark.svg").read_text()
        panels = (range(112, 112 + 151), range(334, 334 + 151))  # from top to bottom
        for y in re.findall(r'<circle [^>]*cy="([\d.]+)"', text):
            self.assertTrue(any(int(float(y)) in panel for panel in panels), y)

    def test_each_published_cell_is_a_point(self):
        cells = [cell for name in RESULTS
                 for cell in json.loads((SOURCE / "docs/results" / name).read_text())["cells"]]
        barriers = sum(cell["op"] == "barrier" for cell in cells)
        for theme in ("light", "dark"):
            text = (SOURCE / f"docs/pictures/comparison-{theme}.svg").read_text()
            self.assertEqual(text.count("<circle "), len(cells) - barriers)
            diamonds = re.findall(r"l5 -5l5 5l-5 5Z", text)
            self.assertEqual(len(diamonds), barriers + 1)  # one in the legend

    def test_they_are_well_formed_and_differ_in_colours_alone(self):
        for name in ("idea", "comparison"):
            bare = []
            for theme in ("light", "dark"):
                text = (SOURCE / f"docs/pictures/{name}-{theme}.svg").read_text()
                xml.etree.ElementTree.fromstring(text)
                bare.append(re.sub(r"#[0-9a-f]{6}", "", text))
            self.assertEqual(*bare)

    def test_the_readme_shows_both_forms_of_each(self):
        text = (SOURCE / "README.md").read_text()
        for name in ("idea", "comparison"):
            self.assertRegex(text, rf'<source media="\(prefers-color-scheme: dark\)" '
                                   rf'srcset="docs/pictures/{name}-dark.svg">\n'
                                   rf'  <img alt="[^"]+" src="docs/pictures/{name}-light.svg">')


if __name__ == "__main__":
    unittest.main()
