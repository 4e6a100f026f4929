#!/usr/bin/env python3
"""The RDMA transport beside perftest: in a guest with Soft-RoCE (tests/vm/rxe-run), or on devices.

usage: verbs.py [--quick] [--publish]     boots a guest, measures there, prints the tables
       verbs.py --inside ...              measures here, on the devices RXE_DEVS="A B" with the
                                          addresses RXE_ADDRS="A B": what rxe-run sets

Launches of esp-verbs and of perftest take turns, `--rounds` times; a cell is the median over its
launches. --publish writes docs/results/verbs.md. Needs perftest and a build with libibverbs.
"""

import argparse
import datetime
import json
import os
import pathlib
import platform
import subprocess
import sys

import launches
import report

ROOT = (pathlib.Path(__file__).parent / ".." / "..").resolve()
RESULTS = ROOT / "docs" / "results" / "verbs.md"


def arguments():
    parser = argparse.ArgumentParser(prog="bench/verbs/verbs.py", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build",
                        help="has bin/esp-verbs")
    parser.add_argument("--rounds", type=int, default=7, help="launches of each kind")
    parser.add_argument("--quick", action="store_true", help="few sizes, two rounds")
    parser.add_argument("--smoke", action="store_true", help="esp-verbs alone, once: does it work?")
    parser.add_argument("--publish", action="store_true", help=f"writes {RESULTS.name}")
    parser.add_argument("--inside", action="store_true", help="no guest: on the devices of here")
    parser.add_argument("--json", type=pathlib.Path,
                        help="keeps the rows of all launches, and where they were measured")
    return parser.parse_args()


def said_by(*command):
    """The output of a command, whatever its exit code, on one line; nothing: unknown."""
    try:
        done = subprocess.run(command, check=False, text=True, stdout=subprocess.PIPE,
                              stderr=subprocess.DEVNULL)
        return " ".join(done.stdout.split()) or "unknown"
    except OSError:
        return "unknown"


def place():
    """What the measuring machine, mostly a guest, is."""
    return {"kernel": platform.release(), "cpus": os.cpu_count(),
            "perftest": said_by("ib_send_lat", "--version").removeprefix("Version: ")}


def origin():
    """What was measured, when, and the machine of the guest."""
    models = [line.split(": ")[1] for line in
              pathlib.Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
              if line.startswith("model name")]
    return {"source": said_by("git", "-C", str(ROOT), "describe", "--always", "--dirty"),
            "date": datetime.date.today().isoformat(), "host_kernel": platform.release(),
            "host_cpu": models[0] if models else platform.machine(), "host_cpus": os.cpu_count()}


def measure_in_guest(settings):
    """As main() prints it with --json -, by this script in a guest."""
    inside = [sys.executable, "-B", __file__, "--inside", "--json", "-", "--build",
              settings.build.resolve(), "--rounds", settings.rounds]
    inside += ["--quick"] if settings.quick else []
    inside += ["--smoke"] if settings.smoke else []
    # No kernel threads of the guest beside the two ends and the network: two processors suffice.
    guest = [ROOT / "tests" / "vm" / "rxe-run", "--cpus", 2, "--timeout", 1800, "--", *inside]
    done = subprocess.run([str(part) for part in guest], stdout=subprocess.PIPE, text=True)
    if done.returncode != 0:
        sys.stdout.write(done.stdout)
        sys.exit(done.returncode)
    return json.loads(done.stdout)


def main():
    settings = arguments()
    if settings.inside:
        rows = launches.measure(settings.build / "bin" / "esp-verbs", settings)
        found = {"place": place(), "rows": rows}
    else:
        found = measure_in_guest(settings)
    if settings.json is not None and str(settings.json) == "-":
        json.dump(found, sys.stdout)
        return
    found = {"origin": origin(), **found}
    if settings.json is not None:
        settings.json.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    text = report.markdown(found)
    if settings.publish:
        head = (pathlib.Path(__file__).parent / "report.md").read_text(encoding="utf-8")
        RESULTS.write_text(head.replace("TABLES\n", text), encoding="utf-8")
    sys.stdout.write(text)


if __name__ == "__main__":
    os.environ["PYTHONDONTWRITEBYTECODE"] = "1"
    main()
