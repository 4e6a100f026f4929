"""What the tests of the larger examples share: running one under esp-run, with a time limit."""
import json
import pathlib
import subprocess
import tempfile
import unittest

RUN_SECONDS = 60


class Application(unittest.TestCase):
    launcher, program = "", ""  # esp-run, and the example

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def run_ranks(self, ranks, *arguments):
        """On `ranks` ranks, on two nodes when that is a pair, without a launcher when None."""
        count, nodes = ranks if isinstance(ranks, tuple) else (ranks, 1)
        launcher = [] if ranks is None else [self.launcher, "-n", str(count), "--nodes", str(nodes)]
        return subprocess.run([*launcher, self.program, *map(str, arguments)], text=True,
                              capture_output=True, timeout=RUN_SECONDS, check=False)

    def succeed(self, ranks, *arguments):
        result = self.run_ranks(ranks, *arguments)
        self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
        return result.stdout

    def records(self, ranks, *arguments):
        """The lines of JSON."""
        out = self.succeed(ranks, "--report", "json", *arguments)
        return [json.loads(line) for line in out.splitlines()]

    def fail_with(self, exit_code, message, ranks, *arguments):
        """All ranks end, and one alone explains."""
        result = self.run_ranks(ranks, *arguments)
        self.assertEqual(result.returncode, exit_code, result.stdout + result.stderr)
        self.assertEqual(result.stderr.count(message), 1, result.stderr)
