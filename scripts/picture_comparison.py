"""Times of Espalier beside those of the best peer, of some operations all cells of docs/results."""
import json
import math

RATIOS = (0.18, 1.4)  # ends of the vertical axis, wider where a figure asks for it
TICKS = (0.05, 0.1, 0.2, 0.3, 0.5, 0.7, 1.0, 1.4, 2.0, 3.0, 5.0, 10.0)
WIDTH, PANEL_WIDTH, PANEL_HEIGHT, GAP, LEFT = 840, 172, 150, 16, 64
SIZES = (8, 16 << 20)  # ends of the horizontal axis, bytes
MARKS = ((8, "8 B"), (1 << 10, "1 KiB"), (64 << 10, "64 KiB"), (4 << 20, "4 MiB"))

# Operation: its name on the page, colour, dashes of its line. The other operations' lines would
# not be told apart.
LINES = {"bcast": ("broadcast", "blue", None), "reduce": ("reduce", "orange", None),
         "allreduce": ("allreduce", "green", None), "barrier": ("barrier", "ink", None),
         "p2p-latency": ("point to point, latency", "pink", None),
         "p2p-bandwidth": ("point to point, stream", "pink", "4 3")}


def panels(results):
    """Rows of panels: (heading, [(title, {operation: [(bytes, ratio)]})])."""
    rows = []
    for heading, file, keys, title in (
            ("Shared memory, one node of 2 cores", "comparison.json", ("ranks",), "{} ranks"),
            ("TCP, emulated nodes on one machine of 2 cores", "nodes_tcp.json",
             ("nodes", "per_node"), "{} nodes, {} ranks each")):
        found = {}
        for cell in json.loads((results / file).read_text())["cells"]:
            name = title.format(*(cell[key] for key in keys)).replace(" 1 ranks", " 1 rank")
            lines = found.setdefault(name, {})
            is_drawn = cell["op"] in LINES and cell.get("buffers", "rewritten") == "rewritten"
            if not is_drawn or cell["ratio"] is None:
                continue
            lines.setdefault(cell["op"], []).append((cell["bytes"], cell["ratio"]))
        rows.append((heading, list(found.items())))
    return rows


class Panel:
    """One pair of axes: ratio over message size, both logarithmic."""

    def __init__(self, canvas, x, y, ratios):
        self.canvas, self.x, self.y, self.ratios = canvas, x, y, ratios

    def across(self, size):
        first, last = map(math.log2, SIZES)
        share = (math.log2(max(size, SIZES[0])) - first) / (last - first)
        return self.x + 12 + share * (PANEL_WIDTH - 24)

    def up(self, ratio):
        low, high = map(math.log, self.ratios)
        share = (math.log(ratio) - low) / (high - low)
        return self.y + PANEL_HEIGHT * (1 - share)

    def axes(self, title, first):
        canvas = self.canvas
        canvas.add("rect", x=self.x, y=self.up(1.0), width=PANEL_WIDTH,
                   height=self.y + PANEL_HEIGHT - self.up(1.0), fill="panel")
        for tick in (tick for tick in TICKS if self.ratios[0] <= tick <= self.ratios[1]):
            y = self.up(tick)
            one = tick == 1.0
            canvas.line([(self.x, y), (self.x + PANEL_WIDTH, y)], "ink" if one else "rule")
            if first:
                canvas.text(self.x - 6, y + 4, f"{tick:g}", "end", 11, one, "muted")
        for size, name in MARKS:
            canvas.text(self.across(size), self.y + PANEL_HEIGHT + 15, name, "middle", 11,
                        fill="muted")
        canvas.text(self.x + PANEL_WIDTH / 2, self.y - 8, title, "middle", 12, True)

    def plot(self, operation, points):
        _, colour, dashes = LINES[operation]
        places = [(self.across(size), self.up(ratio)) for size, ratio in sorted(points)]
        if len(places) > 1:
            self.canvas.line(places, colour, 2, dashes)
        for x, y in places:
            if operation == "barrier":  # has no size
                self.canvas.add("path", d=f"M{x - 5:.1f} {y:.1f}l5 -5l5 5l-5 5Z", fill=colour)
            else:
                self.canvas.add("circle", cx=x, cy=y, r=2.6, fill=colour)


def legend(canvas, y):
    x = LEFT
    for operation, (name, colour, dashes) in LINES.items():
        if operation == "barrier":
            canvas.add("path", d=f"M{x + 5} {y - 4}l5 -5l5 5l-5 5Z", fill=colour)
        else:
            canvas.line([(x, y - 4), (x + 20, y - 4)], colour, 2, dashes)
        canvas.text(x + 25, y, name, size=12)
        x += 46 + 6.4 * len(name)


def draw(canvas_of, results):
    rows = panels(results)
    ratios = [ratio for _, found in rows for _, lines in found
              for points in lines.values() for _, ratio in points]
    ratios = (min(RATIOS[0], 0.9 * min(ratios)), max(RATIOS[1], 1.1 * max(ratios)))
    height = 100 + len(rows) * (PANEL_HEIGHT + 72)
    canvas = canvas_of(WIDTH, height, "Time of Espalier divided by that of the best peer, by "
                       "operation, message size and number of ranks")
    canvas.text(24, 30, "Time divided by the best peer's (Open MPI, MPICH)", size=16, bold=True)
    canvas.text(24, 50, "Below the line at 1 Espalier is faster. Each point is a published cell.",
                fill="muted")
    for row, (heading, found) in enumerate(rows):
        y = 112 + row * (PANEL_HEIGHT + 72)
        canvas.text(24, y - 30, heading, bold=True)
        for column, (title, lines) in enumerate(found):
            panel = Panel(canvas, LEFT + column * (PANEL_WIDTH + GAP), y, ratios)
            panel.axes(title, first=column == 0)
            for operation, points in lines.items():
                panel.plot(operation, points)
    legend(canvas, height - 16)
    return canvas.done()
