#!/usr/bin/env python3
"""Runs heat on several grids of ranks: equal to a serial run, messages, the picture.

usage: heat_test.py LAUNCHER HEAT [unittest arguments]
"""
import struct
import sys
import unittest
import zlib

from application import Application

VARIANTS = ["funnel", "multiple", "sync", "partial"]


class Heat(Application):
    def test_equals_a_serial_run(self):
        """Tiles of one row and column, of unequal sizes, a rank alone, and two nodes."""
        cases = ((None, "1x1", 5, 7, 3), (2, "2x1", 2, 5, 2), (3, "1x3", 4, 3, 1),
                 ((4, 2), "2x2", 13, 11, 2), (6, "3x2", 3, 2, 1))
        for ranks, grid, rows, columns, threads in cases:
            with self.subTest(grid=grid):
                runs = self.records(ranks, "--grid", grid, "--rows", rows, "--columns", columns,
                                    "--threads", threads, "--steps", 12, "--self-check")
                self.assertEqual([run["variant"] for run in runs], VARIANTS)
                self.assertEqual({run["check"] for run in runs}, {"passed"})

    def test_messages_of_an_inner_rank(self):
        """One for each neighbour, or one for each thread at two of them and two more."""
        for flags, few in (([], 4), (["--separate"], 2 * 3 + 2)):
            runs = self.records(9, "--rows", 12, "--columns", 15, "--threads", 3, "--steps", 5,
                                "--self-check", *flags)
            messages = {run["variant"]: run["messages_per_step"] for run in runs}
            self.assertEqual(messages, {"funnel": 4, "multiple": 2 * 3 + 2, "sync": few,
                                        "partial": few})

    def test_the_table(self):
        out = self.succeed(2, "--grid", "2x1", "--rows", 8, "--columns", 8, "--steps", 3,
                           "--repeat", 2, "--self-check", "--variant", "multiple")
        self.assertRegex(out, r"(?m)^multiple +\d+\.\d+ ms +\d+\.\d+ us +1\.000 .* 2\.00$")
        self.assertRegex(out, r"(?m)^self-check   passed")
        self.assertNotIn("funnel", out)

    def test_the_picture(self):
        path = self.folder / "heat.png"
        self.succeed(2, "--rows", 300, "--columns", 260, "--steps", 1, "--threads", 1,
                     "--variant", "funnel", "--picture", path)
        png = path.read_bytes()
        self.assertEqual(png[:8], b"\x89PNG\r\n\x1a\n")
        chunks, at = {}, 8
        while at < len(png):
            length, kind = struct.unpack(">I4s", png[at:at + 8])
            data = png[at + 8:at + 8 + length]
            self.assertEqual(struct.unpack(">I", png[at + 8 + length:at + 12 + length])[0],
                             zlib.crc32(kind + data))
            chunks[kind] = data
            at += 12 + length
        self.assertEqual(struct.unpack(">IIBBBBB", chunks[b"IHDR"]), (260, 300, 8, 3, 0, 0, 0))
        self.assertEqual(len(chunks[b"PLTE"]), 3 * 256)
        self.assertIn(b"IEND", chunks)
        pixels = zlib.decompress(chunks[b"IDAT"])  # checks its sum
        self.assertEqual(len(pixels), 300 * 261)
        self.assertEqual(set(pixels[::261]), {0})
        self.assertEqual(pixels[150 * 261 + 1 + 130], 255)  # a source
        self.assertEqual(pixels.count(255), 3)


class BadInput(Application):
    def test_plates_and_grids(self):
        self.fail_with(1, "heat: --grid 3x3 is not for 2 ranks", 2, "--grid", "3x3")
        self.fail_with(1, "too small for 1 x 2 ranks with 2 threads", 2, "--columns", 3)
        self.fail_with(1, "too small for 2 x 1 ranks", 2, "--grid", "2x1", "--rows", 1)
        self.fail_with(1, "/nowhere/x.png: No such file", 2, "--rows", 4, "--columns", 4,
                       "--steps", 1, "--picture", "/nowhere/x.png")

    def test_command_line(self):
        self.fail_with(2, "--wrong", 3, "--wrong")
        self.fail_with(2, "--grid: expected ROWSxCOLUMNS, found '2y3'", 2, "--grid", "2y3")
        self.fail_with(2, "--variant: fast not in", 2, "--variant", "fast")
        self.fail_with(2, "--threads", 2, "--threads", 0)

    def test_help_is_printed_once(self):
        self.assertEqual(self.succeed(3, "--help").count("--self-check"), 1)


if __name__ == "__main__":
    Application.launcher, Application.program = sys.argv[1], sys.argv[2]
    unittest.main(argv=sys.argv[:1] + sys.argv[3:])
