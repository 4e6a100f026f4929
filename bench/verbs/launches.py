"""Launches of esp-verbs and of perftest between two devices of this machine, taking turns.

A row is a dictionary: program, over, task, bytes, and median_us (half a round trip) or mib_per_s.
"""

import json
import os
import pathlib
import subprocess
import tempfile
import time

LATENCY = {"rc": [2, 8, 64, 1024, 4096, 16384, 65536], "ud": [2, 8, 64, 1024, 4000]}
BANDWIDTH = [16384, 65536, 1 << 20]
ACCESS = {"latency": [8, 4096, 65536], "stream": [65536, 1 << 20]}  # puts and gets
LATE = [256 << 10, 1 << 20]
WINDOW = 16  # puts and gets of a stream, at a time
STREAM_BYTES = 64 << 20  # of one launch
UD_PACKET = 4096  # what perftest can send as one datagram
MIB = 1 << 20
LIMIT_S = 120


def devices():
    """((device, address) of both ends, GID index)."""
    names, addresses = os.environ["RXE_DEVS"].split(), os.environ["RXE_ADDRS"].split()
    return list(zip(names, addresses))[:2], os.environ.get("RXE_GID_INDEX", "1")


def esp_verbs(program, over, task, sizes, *more):
    """One launch: a row per size."""
    ends, _ = devices()
    with tempfile.TemporaryDirectory() as exchange:
        running = []
        for rank, (device, _) in enumerate(ends):
            command = [program, "--rank", rank, "--device", device, "--exchange", exchange,
                       "--over", over, "--task", task, "--bytes", ",".join(map(str, sizes)), *more]
            running.append(subprocess.Popen([str(part) for part in command],
                                            stdout=subprocess.PIPE, text=True))
        outputs = [one.communicate(timeout=LIMIT_S)[0] for one in running]
    if any(one.returncode != 0 for one in running):
        raise RuntimeError(f"esp-verbs {over} {task}: exit codes "
                           f"{[one.returncode for one in running]}")
    return [{"program": "esp-verbs", **json.loads(line)} for line in outputs[0].splitlines()]


def wait_for_listener(port):
    """Until the server of perftest listens."""
    wanted = f":{port:04X} "
    for _ in range(1000):
        for table in ("/proc/net/tcp", "/proc/net/tcp6"):
            lines = pathlib.Path(table).read_text(encoding="ascii").splitlines()[1:]
            if any(wanted in line.split(maxsplit=1)[1][:50] and line.split()[3] == "0A"
                   for line in lines):
                return
        time.sleep(0.01)
    raise RuntimeError("the server of perftest does not listen")


class Perftest:
    """Server on the second device, client on the first."""

    _port = 18515

    def __call__(self, program, over, task, size, count, *more):
        ends, gid = devices()
        Perftest._port += 1
        common = [program, "-x", gid, "-s", str(size), "-n", str(count), "-F", "-c", over.upper(),
                  "-p", str(Perftest._port), *more]
        latency = program.endswith("_lat")
        server = subprocess.Popen([*common, "-d", ends[1][0]], stdout=subprocess.DEVNULL,
                                  stderr=subprocess.DEVNULL)
        try:
            wait_for_listener(Perftest._port)
            text = subprocess.run([*common, "-d", ends[0][0], ends[1][1]], check=True, text=True,
                                  stdout=subprocess.PIPE, timeout=LIMIT_S).stdout
            server.wait(timeout=10)
        finally:
            server.kill()
        return {"program": program, "over": over, "task": task, "bytes": size,
                **figures(text, latency)}


def figures(text, latency):
    """From the last line of numbers that perftest prints."""
    numbers = [line.split() for line in text.splitlines() if line.strip()[:1].isdigit()][-1]
    if latency:  # size, iterations, min, max, typical, average, deviation, 99 %, 99.9 %
        return {"min_us": float(numbers[2]), "median_us": float(numbers[4]),
                "p99_us": float(numbers[7])}
    return {"mib_per_s": float(numbers[3])}  # size, iterations, peak, average, rate


def stream_length(size):
    return max(128, STREAM_BYTES // size)


def accesses(program, perftest, sizes, iterations):
    """Puts and gets: one at a time, as perftest's `latency` of a read, and streams, with as many at
    a time as perftest's."""
    for task, peer in (("put", "ib_write_bw"), ("get", "ib_read_bw")):
        yield from esp_verbs(program, "rc", task, sizes["latency"], "--window", 1,
                             "--iterations", iterations)
        for size in sizes["stream"]:
            count = stream_length(size)
            yield from esp_verbs(program, "rc", task, [size], "--window", WINDOW,
                                 "--iterations", count)
            if perftest is not None:
                yield perftest(peer, "rc", f"{task}-stream", size, count, "-t", str(WINDOW))
    for size in sizes["latency"] if perftest is not None else []:
        yield perftest("ib_read_lat", "rc", "get", size, iterations)


def late(program, sizes):
    """Large messages whose receives are late: read by their receiver, and as frames."""
    for size in sizes:
        count = ["--iterations", max(16, stream_length(size) // 4)]
        yield from esp_verbs(program, "rc", "late", [size], *count)
        yield from esp_verbs(program, "rc", "late", [size], "--no-read", *count)


def one_round(program, perftest, sizes):
    """Every cell once: ours, then theirs."""
    latency, bandwidth, iterations, access, late_sizes = sizes
    for over in ("rc", "ud"):
        for size in latency[over]:  # each beside its peers: machines are slower for seconds
            yield from esp_verbs(program, over, "latency", [size], "--iterations", iterations)
            if perftest is None:
                continue
            for peer in ("ib_send_lat", "ib_write_lat")[: 2 if over == "rc" else 1]:
                yield perftest(peer, over, "latency", size, iterations)
    for size in bandwidth:
        count = ["--iterations", stream_length(size)]
        for over, memory in (("rc", "registered"), ("rc", "cached"), ("rc", "copied"),
                             ("ud", "copied")):
            yield from esp_verbs(program, over, "bandwidth", [size], "--memory", memory, *count)
        if perftest is None:
            continue
        for peer in ("ib_write_bw", "ib_send_bw"):
            yield perftest(peer, "rc", "bandwidth", size, stream_length(size))
    if perftest is not None:
        yield perftest("ib_send_bw", "ud", "bandwidth", UD_PACKET, stream_length(UD_PACKET))
    yield from accesses(program, perftest, access, iterations)
    yield from late(program, late_sizes)


def measure(program, settings):
    """All rows of all rounds."""
    sizes, rounds = (LATENCY, BANDWIDTH, 1000, ACCESS, LATE), settings.rounds
    if settings.quick or settings.smoke:
        few = {"latency": [8], "stream": [65536]}
        sizes, rounds = ({"rc": [8, 65536], "ud": [8, 4000]}, [65536], 500, few, LATE[:1]), 2
    if settings.smoke:
        sizes, rounds = (*sizes[:2], 50, *sizes[3:]), 1
    rows = []
    for number in range(rounds):
        for row in one_round(program, None if settings.smoke else Perftest(), sizes):
            rows.append({"round": number, **row})
    command = [program, "--rank", "0", "--device", devices()[0][0][0], "--exchange", "/tmp",
               "--task", "memory"]
    text = subprocess.run([str(part) for part in command], check=True, text=True,
                          stdout=subprocess.PIPE, timeout=LIMIT_S).stdout
    return [*rows, {"program": "esp-verbs", **json.loads(text)}]
