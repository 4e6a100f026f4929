#!/usr/bin/env python3
"""Messages matched by tag between two ranks, by Espalier's own interface and its mpi.h, Open MPI,
MPICH and UCX, within a node and over TCP beside a plain socket: launches in turn, the best of each.

usage: messages.py [--smoke] [--publish]

--publish writes docs/results/messages.md. Needs a build with -D ESPALIER_BENCH=ON.
"""

import argparse
import datetime
import json
import os
import pathlib
import platform
import subprocess
import sys
import tempfile
import time

ROOT = (pathlib.Path(__file__).parent / ".." / "..").resolve()
sys.path.insert(0, str(ROOT / "bench" / "driver"))

import launch  # noqa: E402
import libraries  # noqa: E402
import page  # noqa: E402

RESULTS = ROOT / "docs" / "results" / "messages.md"
LIMIT_S = 120  # of one launch
SIZES = [1, 8, 64, 512, 4 << 10, 16 << 10, 64 << 10, 256 << 10, 1 << 20, 4 << 20]


def say(text):
    print(text, file=sys.stderr, flush=True)


def names(parser, text, known, option):
    chosen = text.split(",")
    for name in chosen:
        if name not in known:
            parser.error(f"{option}: what is '{name}'? There are {', '.join(known)}")
    return chosen


def arguments():
    parser = argparse.ArgumentParser(prog="bench/messages/messages.py", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build",
                        help="has bin/esp-messages, bin/esp-run and bin/esp-cc")
    parser.add_argument("--places", default=",".join(libraries.PLACES), help="node,tcp")
    parser.add_argument("--only", default=",".join(libraries.NAMES),
                        help="of " + ",".join(libraries.NAMES))
    parser.add_argument("--sizes", type=lambda text: [int(size) for size in text.split(",")],
                        default=SIZES, help="bytes")
    parser.add_argument("--seconds", type=float, default=0.2, help="of a cell")
    parser.add_argument("--rounds", type=int, default=5,
                        help="launches of each kind, in turn; a figure is the best of them")
    parser.add_argument("--smoke", action="store_true", help="does it work? few messages")
    parser.add_argument("--json", type=pathlib.Path, help="keeps the figures of all launches")
    parser.add_argument("--publish", action="store_true", help=f"writes {RESULTS.name}")
    settings = parser.parse_args()
    settings.places = names(parser, settings.places, libraries.PLACES, "--places")
    settings.only = names(parser, settings.only, libraries.NAMES, "--only")
    if settings.rounds < 1 or settings.seconds <= 0 or min(settings.sizes) < 1:
        parser.error("--rounds, --seconds and --sizes: more than 0")
    for program in ("esp-run", "esp-messages"):
        if not (settings.build / "bin" / program).exists():
            parser.error(f"--build: no bin/{program} in {settings.build}")
    if settings.smoke:
        settings.sizes, settings.seconds, settings.rounds = [8, 65536], 0.01, 1
    return settings


def read(output):
    """{(measure, bytes): us} of what a launch has printed."""
    cells = {}
    for line in output.splitlines():
        words = line.split()
        if len(words) == 3 and words[0] in page.MEASURES:
            cells[words[0], int(words[1])] = float(words[2])
    return cells


def launched(settings, command):
    """Nothing, and a complaint: it failed."""
    sizes = ",".join(map(str, settings.sizes))
    try:
        return read(launch.run([*command, sizes, settings.seconds], LIMIT_S)[1])
    except launch.LaunchError as failure:
        say(f"left out, {failure}: {' '.join(map(str, command))}")
        return {}


class Others:
    """Processors that others than our launches used meanwhile."""

    def __init__(self):
        self.begin = self.now()

    @staticmethod
    def now():
        """Wall time, the machine's processor time and that of our children; seconds."""
        line = pathlib.Path("/proc/stat").read_text(encoding="ascii").split("\n", 1)[0]
        user, nice, system, _, _, irq, softirq = map(int, line.split()[1:8])
        own = os.times()
        return (time.monotonic(),
                (user + nice + system + irq + softirq) / os.sysconf("SC_CLK_TCK"),
                own.children_user + own.children_system + own.user + own.system)

    def mean(self):
        wall, machine, own = (now - then for now, then in zip(self.now(), self.begin))
        return max(0.0, (machine - own) / wall)


def measure(settings, programs):
    """{place: {name of a library: what its launches have printed}}"""
    found = {}
    for number in range(settings.rounds):
        for place in settings.places:
            of_place = [name for name in libraries.PLACES[place] if name in programs.paths]
            # The other way round every other time: what a neighbour leaves meets each of two.
            for name in of_place if number % 2 == 0 else reversed(of_place):
                cells = launched(settings, programs.command(place, name))
                found.setdefault(place, {}).setdefault(name, []).append(cells)
                say(f"{place}, launch {number + 1}: {libraries.NAMES[name]}")
    return found


def cpu_name():
    for line in pathlib.Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
        if line.startswith("model name"):
            return line.split(":", 1)[1].strip()
    return "unknown processor"


def origin(settings, programs, others):
    source = subprocess.run(["git", "-C", ROOT, "describe", "--always", "--dirty"], check=False,
                            text=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL).stdout
    versions = [libraries.version(name) for name in libraries.PEERS if name in programs.paths]
    return (f"Source {source.strip() or 'unknown'}, {datetime.date.today().isoformat()}; "
            f"{cpu_name()}, {os.cpu_count()} processors, {platform.system()} "
            f"{platform.release()}; {', '.join(versions)}. Launches of each kind: "
            f"{settings.rounds}. Processors that others used meanwhile: {others:.2f}.")


def keep(path, found):
    rows = [{"place": place, "library": name, "launch": number, "measure": kind, "bytes": size,
             "us": us}
            for place, of_place in found.items() for name, launches in of_place.items()
            for number, cells in enumerate(launches) for (kind, size), us in cells.items()]
    path.write_text(json.dumps(rows, indent=1) + "\n", encoding="utf-8")


def main():
    settings = arguments()
    launch.end_when_told()
    with tempfile.TemporaryDirectory() as folder:
        programs = libraries.build_programs(settings.build, folder, settings.only, say)
        if not set(libraries.PEERS) & set(programs.paths):
            say("messages.py: there is neither Open MPI nor MPICH nor UCX here")
            return 77
        others = Others()
        found = measure(settings, programs)
        about = origin(settings, programs, others.mean())
    if settings.json is not None:
        keep(settings.json, found)
    places = {place: {name: page.best(launches) for name, launches in of_place.items()}
              for place, of_place in found.items()}
    text = page.markdown(places, about)
    if settings.publish:
        RESULTS.write_text(text, encoding="utf-8")
    sys.stdout.write(text)
    silent = [f"{place}: {name}" for place, of_place in places.items()
              for name, cells in of_place.items() if not cells]
    if silent:
        say(f"messages.py: no figures of {', '.join(silent)}")
    return 1 if silent else 0


if __name__ == "__main__":
    sys.exit(main())
