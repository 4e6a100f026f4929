"""The idea of the library as a picture: a tree of ranks, one rank's plan, and what executes it."""

CELL = 26  # of a segment


def segment(canvas, x, y, number, state, size=CELL):
    """A square with the segment's number, in the colour of its state."""
    fill, stroke, ink = {"done": ("done", "done", "on_done"),
                         "moving": ("page", "moving", "moving"),
                         "waiting": ("page", "rule", "muted")}[state]
    canvas.add("rect", x=x, y=y, width=size, height=size, rx=3, fill=fill, stroke=stroke,
               stroke_width=2 if state == "moving" else 1)
    canvas.text(x + size / 2, y + size / 2 + 4.5, str(number), "middle", 12, fill=ink)


# Rank: where it stands, and how many segments of the message it has.
RANKS = {0: (155, 92, 6), 1: (92, 205, 3), 2: (228, 205, 4), 3: (48, 318, 1), 4: (136, 318, 2),
         5: (228, 318, 0)}
EDGES = [(0, 1), (0, 2), (1, 3), (1, 4), (2, 5)]


def tree(canvas):
    canvas.text(24, 34, "A tree of ranks", size=16, bold=True)
    canvas.text(24, 54, "Its edges carry the segments of a message.", fill="muted")
    for parent, child in EDGES:
        canvas.line([RANKS[parent][:2], RANKS[child][:2]], "rule", 2)
    for parent, child in EDGES:
        (x0, y0, _), (x1, y1, has) = RANKS[parent], RANKS[child]
        segment(canvas, (x0 + x1) / 2 - 10, (y0 + y1) / 2 - 8, has, "moving", 20)
    for rank, (x, y, has) in RANKS.items():
        mine = rank == 1
        canvas.add("circle", cx=x, cy=y, r=17, fill="done" if mine else "panel",
                   stroke="done" if mine else "muted", stroke_width=1.5)
        canvas.text(x, y + 5, str(rank), "middle", 14, True, "on_done" if mine else "ink")
        for number in range(6):
            canvas.add("rect", x=x - 23.5 + 8 * number, y=y + 22, width=6, height=6,
                       fill="done" if number < has else "page",
                       stroke="done" if number < has else "rule")
    canvas.text(24, 378, "Rank 5 is late: it holds up nobody else.", fill="muted")


PLAN = [("receive from 0", "done done done moving moving waiting"),
        ("send to 3", "done moving moving waiting waiting waiting"),
        ("send to 4", "done done moving waiting waiting waiting")]


def plan(canvas):
    left, top = 466, 76
    canvas.text(340, 34, "The plan of rank 1", size=16, bold=True)
    canvas.text(340, 54, "A dataflow graph. Its arrows are all that is waited for.", fill="muted")
    for row, (name, states) in enumerate(PLAN):
        y = top + 58 * row
        canvas.text(340, y + 18, name)
        for number, state in enumerate(states.split()):
            segment(canvas, left + 62 * number, y, number, state)
    for number in range(6):  # What is received may be sent: to 3, and past it to 4.
        x = left + 62 * number + 8
        canvas.arrow((x, top + CELL + 2), (x, top + 56), "muted")
        right = x + 26
        canvas.line([(x + 10, top + CELL + 2), (x + 10, top + 42), (right, top + 42),
                     (right, top + 129), (x + 20, top + 129)], "muted", 1.5)
        canvas.arrow((right, top + 129), (x + 19, top + 129), "muted")
    for x, state, words in ((466, "done", "complete"), (570, "moving", "under way"),
                            (674, "waiting", "not possible yet")):
        segment(canvas, x, 238, "", state, 12)
        canvas.text(x + 19, 249, words, size=12, fill="muted")


BOXES = [(340, 126, "wire", "moves segments,", "raises completions"),
         (508, 174, "engine", "marks the segment, posts", "what became possible"),
         (722, 96, "plan", "says what", "may follow")]


def loop(canvas):
    for x, width, name, first, second in BOXES:
        canvas.add("rect", x=x, y=300, width=width, height=76, rx=6, fill="panel", stroke="rule")
        canvas.text(x + width / 2, 323, name, "middle", 15, True)
        canvas.text(x + width / 2, 344, first, "middle", 12, fill="muted")
        canvas.text(x + width / 2, 361, second, "middle", 12, fill="muted")
    canvas.arrow((466, 324), (508, 324), "moving", 2)
    canvas.arrow((508, 352), (466, 352), "done", 2)
    canvas.arrow((682, 338), (722, 338), "muted")
    canvas.text(487, 292, "completion", "middle", 12, fill="moving")
    canvas.text(487, 394, "post", "middle", 12, fill="done")


def draw(canvas_of):
    canvas = canvas_of(840, 408, "A tree of ranks carries segments; each rank executes a plan, a "
                       "dataflow graph, by reacting to completions")
    tree(canvas)
    canvas.line([(316, 24), (316, 384)], "rule")
    plan(canvas)
    loop(canvas)
    return canvas.done()
