#!/usr/bin/env python3
"""Draws the pictures of README.md, each for light and dark pages, into docs/pictures/.

usage: pictures.py [--check]

--check writes nothing and fails where a committed file is not what would be drawn. The comparison
is drawn from the figures in docs/results/*.json, so it is drawn anew when these are published anew.
"""
import argparse
import html
import pathlib
import sys

sys.dont_write_bytecode = True  # Nothing but scripts stands in this folder.
import picture_comparison
import picture_idea

ROOT = pathlib.Path(__file__).resolve().parent.parent

# Colours of lines are those of Okabe and Ito, which colour-blind readers tell apart.
THEMES = {
    "light": {"page": "#ffffff", "ink": "#1f2328", "muted": "#59636e", "rule": "#d1d9e0",
              "panel": "#f6f8fa", "done": "#0072b2", "on_done": "#ffffff", "moving": "#d55e00",
              "blue": "#0072b2", "orange": "#d55e00", "green": "#008060", "pink": "#aa4499"},
    "dark": {"page": "#0d1117", "ink": "#f0f6fc", "muted": "#9198a1", "rule": "#3d444d",
             "panel": "#151b23", "done": "#56b4e9", "on_done": "#0d1117", "moving": "#e69f00",
             "blue": "#56b4e9", "orange": "#e69f00", "green": "#2fc79b", "pink": "#e58fc4"},
}


class Canvas:
    """Collects the elements of one SVG; a colour is named by its use and looked up in the theme."""

    def __init__(self, theme, width, height, title):
        self.colours = THEMES[theme]
        self.parts = [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" '
            f'width="{width}" height="{height}" font-family="Helvetica, Arial, sans-serif" '
            f'font-size="13" fill="{self.colours["ink"]}">',
            f"<title>{html.escape(title)}</title>",
            f'<rect width="{width}" height="{height}" rx="6" fill="{self.colours["page"]}"/>']

    def add(self, name, content=None, **attributes):
        """An element; `_` in an attribute's name stands for `-`, None leaves the attribute out."""
        text = f"<{name}"
        for key, value in attributes.items():
            if value is not None:
                if key in ("fill", "stroke"):
                    value = self.colours.get(value, value)
                if isinstance(value, float):
                    value = f"{value:.1f}".removesuffix(".0")
                text += f' {key.replace("_", "-")}="{value}"'
        self.parts.append(text + ("/>" if content is None else f">{content}</{name}>"))

    def text(self, x, y, words, anchor=None, size=None, bold=False, fill=None):
        self.add("text", html.escape(words, quote=False), x=x, y=y, text_anchor=anchor,
                 font_size=size, font_weight="bold" if bold else None, fill=fill)

    def line(self, points, stroke, width=1, dashes=None):
        path = "L".join(f"{x:.1f} {y:.1f}" for x, y in points)
        self.add("path", d=f"M{path}", fill="none", stroke=stroke, stroke_width=width,
                 stroke_dasharray=dashes)

    def arrow(self, start, end, stroke, width=1.5):
        """A straight line, horizontal or vertical, with a head at its end."""
        (x0, y0), (x1, y1) = start, end
        along_x = (x1 > x0) - (x1 < x0)
        along_y = (y1 > y0) - (y1 < y0)
        base_x, base_y = x1 - 7 * along_x, y1 - 7 * along_y
        self.line([start, (base_x, base_y)], stroke, width)
        self.add("path", fill=stroke,
                 d=f"M{x1} {y1}L{base_x + 4 * along_y} {base_y + 4 * along_x}"
                   f"L{base_x - 4 * along_y} {base_y - 4 * along_x}Z")

    def done(self):
        return "\n".join(self.parts) + "\n</svg>\n"


def pictures():
    """{path: text} of all pictures."""
    drawn = {}
    for theme in THEMES:
        def canvas(*arguments, theme=theme):
            return Canvas(theme, *arguments)
        drawn[f"docs/pictures/idea-{theme}.svg"] = picture_idea.draw(canvas)
        drawn[f"docs/pictures/comparison-{theme}.svg"] = picture_comparison.draw(
            canvas, ROOT / "docs" / "results")
    return drawn


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true", help="compare, write nothing")
    check = parser.parse_args().check
    stale = []
    for name, text in pictures().items():
        path = ROOT / name
        if not check:
            path.parent.mkdir(exist_ok=True)
            path.write_text(text)
        elif not path.exists() or path.read_text() != text:
            stale.append(name)
    if stale:
        sys.exit(f"not what scripts/pictures.py draws, call it again: {', '.join(stale)}")


if __name__ == "__main__":
    main()
