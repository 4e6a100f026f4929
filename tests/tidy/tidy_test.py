#!/usr/bin/env python3
"""Self tests of tidy.py: each rule fails on a planted violation and passes on its clean twin."""
import pathlib
import tempfile
import unittest

import cpp
import tidy

COMMENT = "// Purpose of the file.\n"
HEADER = COMMENT + "#pragma once\n"


def long_function(lines, signature="int f(int x)"):
    return COMMENT + signature + " {\n" + "  g();\n" * (lines - 2) + "}\n"


class Tree(unittest.TestCase):
    """A tree of planted files, checked as a whole."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name)

    def plant(self, path, text):
        file = self.root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
        (file.parent / "README.md").write_text("What is in here.\n")
        if "/" in path:
            (self.root / path.split("/")[0] / "README.md").write_text("What is in here.\n")

    def rules(self):
        return sorted({rule for rule, _, _ in tidy.check(self.root)})

    def expect(self, rule, path, bad, good):
        self.plant(path, bad)
        self.assertEqual(self.rules(), [rule], f"planted in {path}: {bad[:200]}")
        self.plant(path, good)
        self.assertEqual(self.rules(), [], f"clean twin in {path}: {good[:200]}")


class Rules(Tree):
    def test_include_between_folders(self):
        forbidden = [("core", "coll/plan/plan.hpp"), ("coll", "shm/ring.hpp"),
                     ("shm", "net/tcp.hpp"), ("net", "shm/ring.hpp"), ("mpi", "core/status.hpp"),
                     ("include", "core/status.hpp"), ("examples", "core/status.hpp"),
                     ("coll", "bootstrap/bootstrap.hpp"), ("bootstrap", "api/handles.hpp")]
        for folder, target in forbidden:
            self.expect("include", f"{folder}/a.cpp", f'{COMMENT}#include "{target}"\n',
                        f'{COMMENT}#include "espalier/espalier.h"\n')

    def test_composition_root_and_tests_may_include_all(self):
        for folder in ("bootstrap", "tests", "bench"):
            self.plant(f"{folder}/a.cpp", f'{COMMENT}#include "shm/ring.hpp"\n')
        self.assertEqual(self.rules(), [])

    def test_own_header_comes_first(self):
        self.plant("core/a.hpp", HEADER)
        self.expect("own-header", "core/a.cpp", '#include <vector>\n\n#include "core/a.hpp"\n',
                    '#include "core/a.hpp"\n\n#include <vector>\n')

    def test_infiniband_only_under_verbs(self):
        verbs = COMMENT + "#include <infiniband/verbs.h>\n"
        self.expect("include", "net/tcp/a.cpp", verbs, COMMENT)
        self.plant("net/verbs/a.cpp", verbs)
        self.assertEqual(self.rules(), [])

    def test_environment_is_read_in_one_place(self):
        read = COMMENT + 'auto v = getenv("ESPALIER_X");\n'
        self.expect("environment", "core/a.cpp", read, COMMENT + "// getenv is for others\n")
        self.expect("environment", "bootstrap/a.cpp", COMMENT + "char** e = environ;\n",
                    COMMENT + 'auto s = "environ";\n')
        self.plant("bootstrap/config_from_env.cpp", read)
        self.plant("tools/a.cpp", read)
        self.assertEqual(self.rules(), [])

    def test_file_length(self):
        self.expect("file-length", "core/a.cpp", COMMENT * 501, COMMENT * 500)
        self.expect("file-length", "tests/unit/a.cpp", COMMENT * 801, COMMENT * 800)

    def test_function_length(self):
        for signature in ("int f(int x)", "Status Ring::post(Completion& c) noexcept",
                          "Ring::Ring(int n) : size_(n), slots_(n)", "TEST(Suite, Case)",
                          "template <typename T>\nbool operator==(const T& a, const T& b)"):
            self.expect("function-length", "core/a.cpp", long_function(72, signature),
                        long_function(69, signature))

    def test_long_class_with_short_functions_is_fine(self):
        methods = "".join(f"  int f{i}() {{\n    return {i};\n  }}\n" for i in range(40))
        self.plant("core/a.hpp", f"{HEADER}class A final {{\n{methods}}};\n")
        self.assertEqual(self.rules(), [])

    def test_line_length(self):
        for path in ("core/a.cpp", "tools/x/CMakeLists.txt", "scripts/a.sh", "tests/a.py"):
            start = COMMENT if path.endswith("cpp") else ""
            self.expect("line-length", path, start + "// " + "x" * 98 + "\n",
                        start + "// " + "x" * 97 + "\n")

    def test_header_guard(self):
        self.expect("header-guard", "core/a.hpp", COMMENT + "int f();\n", HEADER + "int f();\n")
        self.expect("header-guard", "include/espalier/a.h", COMMENT,
                    COMMENT + "#ifndef ESPALIER_A_H\n#define ESPALIER_A_H\n#endif\n")

    def test_file_comment(self):
        self.expect("file-comment", "core/a.hpp", "#pragma once\n", HEADER)
        self.expect("file-comment", "core/b.cpp", "int b;\n", COMMENT)
        self.plant("core/a.cpp", "int a;\n")  # its header says it
        self.plant("tests/unit/a_test.cpp", "int a;\n")
        self.assertEqual(self.rules(), [])

    def test_goto(self):
        self.expect("goto", "core/a.cpp", COMMENT + "void f() { goto out; }\n",
                    COMMENT + 'void f() { say("goto"); }  // no goto here\n')

    def test_todo_names_an_issue(self):
        for word in ("TODO: later", "TODO(me): later", "FIXME", "XXX"):
            self.expect("todo", "core/a.cpp", f"{COMMENT}// {word}\n",
                        f"{COMMENT}// TODO(12): later\n")

    def test_folder_readme(self):
        self.plant("core/a.hpp", HEADER)
        (self.root / "core/README.md").write_text("line\n" * 41)
        self.assertEqual(self.rules(), ["readme"])
        (self.root / "core/README.md").unlink()
        self.assertEqual(self.rules(), ["readme"])

    def test_every_rule_has_a_planted_violation(self):
        tested = {name[5:] for name in dir(self) if name.startswith("test_")}
        for rule in tidy.RULES:
            self.assertTrue(any(rule.split("-")[0] in name for name in tested), rule)


class Baseline(Tree):
    def setUp(self):
        super().setUp()
        self.file = self.root / "tests/tidy/baseline.txt"
        self.plant("tests/tidy/baseline.txt", "# kept\nfunction-length core/a.cpp f 80\n")

    def messages(self):
        return list(tidy.compare(tidy.check(self.root), tidy.read_baseline(self.file)))

    def test_tolerates_what_it_lists(self):
        self.plant("core/a.cpp", long_function(80))
        self.assertEqual(self.messages(), [])

    def test_does_not_tolerate_growth(self):
        self.plant("core/a.cpp", long_function(81))
        self.assertEqual(len(self.messages()), 1)

    def test_must_shrink_with_the_code(self):
        self.plant("core/a.cpp", long_function(75))
        self.assertIn("better than the baseline", self.messages()[0])
        tidy.shrink(self.file, tidy.check(self.root), tidy.read_baseline(self.file))
        self.assertEqual(self.file.read_text(), "# kept\nfunction-length core/a.cpp f 75\n")
        self.assertEqual(self.messages(), [])

    def test_shrinking_never_adds(self):
        self.plant("core/a.cpp", long_function(90, "int h()"))
        tidy.shrink(self.file, tidy.check(self.root), tidy.read_baseline(self.file))
        self.assertEqual(self.file.read_text(), "# kept\n")
        self.assertEqual(len(self.messages()), 1)


class Cpp(unittest.TestCase):
    def test_literals_and_comments_hide_nothing_behind_them(self):
        code = cpp.code_only('a = "//"; /* b\n */ c = \'"\'; d = R"x({")x"; e = 1\'000; // f\n')
        self.assertEqual(code.count("\n"), 2)
        for word in "acde":
            self.assertIn(word, code)
        for hidden in ("b", "f", "{"):
            self.assertNotIn(hidden, code)

    def test_functions_are_found_with_their_length(self):
        code = ("namespace a {\n#define X(y) {\nenum class E { kA };\nint v = f(1);\n"
                "struct S {\n  int g() const {\n    for (;;) {\n    }\n    return 1;\n  }\n};\n"
                "INSTANTIATE_TEST(Values(Case{1},\nCase{2}));\n"
                "template <class T>\nvoid h(T t) {\n  auto l = [&](int i) {\n  };\n}\n}\n")
        found = [(name, lines) for name, _, lines in cpp.functions(code)]
        self.assertEqual(found, [("g", 5), ("h", 5)])


if __name__ == "__main__":
    unittest.main()
