"""messages_page_test.py BENCH_DIR: the tables of bench/messages have every cell, compare with the
right others, and mark what is above its aim; and how the libraries are started."""
import pathlib
import sys
import tempfile
import unittest

BENCH = pathlib.Path(sys.argv.pop(1))
sys.path[:0] = [str(BENCH / "messages"), str(BENCH / "driver")]
import libraries  # noqa: E402
import messages  # noqa: E402
import page  # noqa: E402


def figures(**us):
    """The same time for half a round trip of 8 B, 512 B and 64 KiB, a tenth of it for a stream."""
    return {name.replace("_", "-"): {(measure, size): value * part for size in (8, 512, 65536)
                                     for measure, part in (("latency", 1), ("stream", 0.1))}
            for name, value in us.items()}


class Page(unittest.TestCase):
    def test_within_a_node_the_best_of_the_others_counts(self):
        text = page.markdown({"node": figures(espalier=1.0, espalier_mpi=2.0, mpich=4.0, ucx=1.9,
                                              openmpi=200.0)}, "Here.")
        for line in ("| 8 B | 1.00 | 2.00 | 200 | 4.00 | 1.90 | 0.53 | **1.05** | 1.0 |",
                     "| 512 B | 1.00 | 2.00 | 200 | 4.00 | 1.90 | 0.53 | 1.05 | - |",
                     "| 64 KiB | 655 | 328 | 3.28 | 164 | 345 | 0.53 | **1.05** | 0.9 |",
                     "Above the aim: Espalier: 0 of 2; Espalier, mpi.h: 2 of 2."):
            self.assertIn(line + "\n", text)
        self.assertIn("Here.", text)
        self.assertNotIn("Over TCP", text)

    def test_over_tcp_the_socket_counts(self):
        text = page.markdown({"tcp": figures(espalier=5.6, ucx=1.0, socket=5.0,
                                             socket_spin=0.05)}, "")
        for line in ("| 8 B | 5.60 | 1.00 | 5.00 | 0.050 | **1.12** | 1.1 |",
                     "| 64 KiB | 117 | 655 | 131 | 13,107 | **1.12** | 1.1 |",
                     "Above the aim: Espalier: 3 of 3."):
            self.assertIn(line + "\n", text)

    def test_what_is_not_there_is_left_out(self):
        alone = figures(espalier=1.0)
        alone["mpich"] = {}
        text = page.markdown({"node": alone}, "")
        self.assertIn("| 8 B | 1.00 | - | - | 1.0 |\n", text)
        self.assertIn("Nothing to compare with.\n", text)

    def test_a_figure_is_that_of_the_best_launch(self):
        cell, other = ("latency", 8), ("stream", 8)
        launches = [{cell: 5.0}, {cell: 1.0, other: 7.0}, {}, {cell: 2.0}]
        self.assertEqual(page.best(launches), {cell: 1.0, other: 7.0})


class Driver(unittest.TestCase):
    def test_only_lines_of_measures_are_read(self):
        output = "warning of someone\nlatency 8 0.25\nstream 8 0.5\nsomething 8 9\nlatency 8\n"
        self.assertEqual(messages.read(output), {("latency", 8): 0.25, ("stream", 8): 0.5})

    def test_two_cores_are_two(self):
        with tempfile.TemporaryDirectory() as folder:
            for cpu, siblings in enumerate(("0,1", "0,1", "2,3", "2,3", "4")):
                path = pathlib.Path(folder) / f"cpu{cpu}" / "topology"
                path.mkdir(parents=True)
                (path / "thread_siblings_list").write_text(siblings)
            cores = [libraries.two_cores(cpus, pathlib.Path(folder))
                     for cpus in ([0, 1, 2, 3, 4], [1, 3], [2, 3], [7, 8])]
        self.assertEqual(cores, [[0, 2], [1, 3], [2], [7, 8]])

    def test_over_tcp_everybody_is_told_so(self):
        paths = {name: pathlib.Path(name) for name in libraries.NAMES}
        programs = libraries.Programs(pathlib.Path("build"), paths)
        told = {"espalier": "ESPALIER_WIRES=tcp", "espalier-mpi": "ESPALIER_WIRES=tcp",
                "openmpi": "self,tcp", "mpich": "MPIR_CVAR_NOLOCAL=1", "ucx": "UCX_TLS=tcp,self"}
        for name, text in told.items():
            self.assertIn(text, programs.command("tcp", name))
            self.assertNotIn(text, programs.command("node", name))
            self.assertEqual(programs.command("tcp", name)[-1], paths[name])
        self.assertIn("MESSAGES_SPIN=1", programs.command("tcp", "socket-spin"))
        self.assertNotIn("MESSAGES_SPIN=1", programs.command("tcp", "socket"))


if __name__ == "__main__":
    unittest.main()
