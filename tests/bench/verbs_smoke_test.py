#!/usr/bin/env python3
"""verbs_smoke_test.py SOURCE_FOLDER BUILD_FOLDER: bench/verbs in a guest, once: every task over
every wire and kind of memory has a row, and what moves segments moves them as its memory says."""
import json
import pathlib
import subprocess
import sys
import tempfile

ROWS = {
    *((task, over, memory, None) for task in ("latency", "bandwidth")
      for over, memory in (("rc", "registered"), ("ud", "copied"))),
    *(("bandwidth", "rc", memory, None) for memory in ("cached", "copied")),
    *((task, "rc", "registered", None) for task in ("put", "put-stream", "get", "get-stream")),
    *(("late", "rc", "registered", read) for read in (False, True)),
    ("memory", None, None, None),
}  # fmt: skip


def wrong(row):
    """What does not fit the row's kind, or nothing."""
    results = [row[name] for name in ("median_us", "mib_per_s", "ud_heap_bytes") if name in row]
    if not results or min(results) <= 0:
        return f"no result: {row}"
    if row["task"] == "bandwidth":
        copied = row["per_segment"]["copied_bytes"] >= row["bytes"]
        if copied != (row["memory"] == "copied"):
            return f"copies do not fit the memory: {row}"
    return None


def main(source, build):
    with tempfile.TemporaryDirectory() as folder:
        kept = pathlib.Path(folder) / "rows.json"
        done = subprocess.run([sys.executable, "-B", source + "/bench/verbs/verbs.py", "--smoke",
                               "--build", build, "--json", kept], check=False)  # fmt: skip
        if done.returncode != 0:
            return done.returncode
        all_found = json.loads(kept.read_text(encoding="utf-8"))
    rows = all_found["rows"]
    found = {(row["task"], *map(row.get, ("over", "memory", "read"))) for row in rows}
    complaints = [f"no row: {missing}" for missing in sorted(ROWS - found, key=str)]
    complaints += filter(None, map(wrong, rows))
    unknown = [name for part in ("origin", "place") for name, value in all_found[part].items()
               if value in ("", "unknown") and name != "perftest"]
    complaints += [f"not said: {name}" for name in unknown]
    print(*complaints, sep="\n")
    return 1 if complaints else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
