#!/usr/bin/env python3
"""summary_test.py SCRIPTS: the closing lines of `./run test`, from reports as ctest writes them."""
import pathlib
import subprocess
import sys
import tempfile
import unittest

SCRIPTS = pathlib.Path(sys.argv.pop(1))

PASSED = '<testcase name="{}" status="run"/>'
FAILED = '<testcase name="{}" status="fail"><failure/></testcase>'
DISABLED = '<testcase name="{}" status="disabled"/>'
SKIPPED = ('<testcase name="{}" status="notrun"><skipped message="SKIP_RETURN_CODE=77"/>'
           '<system-out>{}</system-out></testcase>')
NOT_RUN = '<testcase name="{}" status="notrun"><skipped message="{}"/></testcase>'


class Summary(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="a folder of ")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def report(self, configuration, *cases):
        text = f"<testsuite>{''.join(cases)}</testsuite>"
        (self.folder / f"{configuration}.xml").write_text(text)

    def summary(self, *configurations):
        """(exit code, lines)"""
        done = subprocess.run([SCRIPTS / "test_summary.py", self.folder, *configurations],
                              capture_output=True, text=True, check=False)
        return done.returncode, done.stdout.strip().splitlines() + done.stderr.splitlines()

    def test_sums_over_the_configurations(self):
        self.report("release", PASSED.format("a"), PASSED.format("b"))
        self.report("asan", PASSED.format("a"), DISABLED.format("c"))
        self.assertEqual(self.summary("release", "asan"), (0, ["3 passed, 0 failed, 0 skipped"]))

    def test_names_what_failed(self):
        self.report("release", PASSED.format("a"))
        self.report("asan", FAILED.format("a"))
        self.assertEqual(self.summary("release", "asan"),
                         (1, ["FAILED   asan: a", "1 passed, 1 failed, 0 skipped"]))

    def test_gives_the_reasons_of_scripts_and_of_googletest(self):
        self.report("release", SKIPPED.format("a", "first\nSKIP: no mpirun\n"),
                    SKIPPED.format("b", "b_test.cpp:7: Skipped\nno membarrier here\n"),
                    SKIPPED.format("c", "silence"))
        self.assertEqual(self.summary("release"), (0, [
            "skipped  release: a: no mpirun", "skipped  release: b: no membarrier here",
            "skipped  release: c: no reason given (SKIP_RETURN_CODE=77)",
            "0 passed, 0 failed, 3 skipped"]))

    def test_what_matches_a_regular_expression_is_skipped_too(self):
        self.report("release", NOT_RUN.format("a", "SKIP_REGULAR_EXPRESSION_MATCHED"))
        self.assertEqual(self.summary("release"), (0, [
            "skipped  release: a: no reason given (SKIP_REGULAR_EXPRESSION_MATCHED)",
            "0 passed, 0 failed, 1 skipped"]))

    def test_what_could_not_be_run_has_failed(self):
        self.report("release", NOT_RUN.format("a_NOT_BUILT", "Unable to find executable"),
                    NOT_RUN.format("b", "Required Files Missing"),
                    *(NOT_RUN.format(name, "Fixture dependency failed") for name in "cd"),
                    FAILED.format("e"), FAILED.format("f"))
        self.assertEqual(self.summary("release"), (1, [
            "FAILED   release: a_NOT_BUILT: Unable to find executable",
            "FAILED   release: b: Required Files Missing",
            "FAILED   release: c and 1 more: Fixture dependency failed",
            "FAILED   release: e", "FAILED   release: f",
            "0 passed, 6 failed, 0 skipped"]))

    def test_reasons_stand_just_above_the_closing_line(self):
        self.report("release", FAILED.format("b"), SKIPPED.format("a", "SKIP: no guest\n"))
        self.report("asan", SKIPPED.format("c", "SKIP: no root\n"), FAILED.format("d"))
        self.assertEqual(self.summary("release", "asan"), (1, [
            "FAILED   release: b", "FAILED   asan: d", "skipped  release: a: no guest",
            "skipped  asan: c: no root", "0 passed, 2 failed, 2 skipped"]))

    def test_says_a_common_reason_once_per_configuration(self):
        self.report("release", *(SKIPPED.format(name, "SKIP: no guest\n") for name in "abc"))
        self.report("asan", SKIPPED.format("a", "SKIP: no guest\n"))
        self.assertEqual(self.summary("release", "asan"), (0, [
            "skipped  release: a and 2 more: no guest", "skipped  asan: a: no guest",
            "0 passed, 0 failed, 4 skipped"]))

    def test_a_build_that_failed_counts_even_beside_an_old_report(self):
        self.report("tsan", PASSED.format("a"))
        (self.folder / "tsan.build-failed").touch()
        self.assertEqual(self.summary("tsan"),
                         (1, ["FAILED   tsan: the build", "0 passed, 1 failed, 0 skipped"]))

    def test_a_missing_report_counts_as_a_failure(self):
        code, lines = self.summary("tsan")
        self.assertEqual((code, lines[0]), (1, "FAILED   tsan: the test run itself (no report)"))

    def test_no_test_at_all_is_not_a_success(self):
        self.report("release")
        code, lines = self.summary("release")
        self.assertEqual((code, lines[0]), (1, "0 passed, 0 failed, 0 skipped"))
        self.assertIn("no test has such a name", lines[1])


if __name__ == "__main__":
    unittest.main()
