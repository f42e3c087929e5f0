"""scripts/check-names: what may meet in a batch, by targets and folders, has names of its own."""

import unittest

from support.tree_check import TreeCheck

ADVICE = "give each a name of its own, or one place"


def source(own, offered="", around="partita::a"):
    unnamed = f"namespace {{\n\n{own}\n\n}}  // namespace\n"
    return f"namespace {around} {{\n{unnamed}\n{offered}\n\n}}  // namespace {around}\n"


class Names(TreeCheck):
    script = "check-names"

    def check_pair(self, first, second):
        self.write("src/a/x.cc", first)
        self.write("src/a/y.cc", second)
        return self.check()

    def assert_found(self, name, first, second):
        self.assertEqual(
            self.check_pair(first, second), (1, f"{name} is in src/a/x.cc and src/a/y.cc: {ADVICE}"), f"{first}{second}"
        )

    def test_overloads_of_two_files_are_found(self):
        self.assert_found(
            "HasMigDevice",
            source("bool HasMigDevice(const Gpu& gpu, std::string_view uuid) {\n  return Find(uuid);\n}"),
            source("bool HasMigDevice(const Gpu& gpu,\n                  const std::string& uuid) {\n}"),
        )

    def test_a_function_is_found_however_it_is_written(self):
        for way in (
            "template <typename T>\nT Twice(T x) {\n  return x;\n}",
            "std::map<std::string, std::vector<std::string>>\nTwice(int x) {\n  return {};\n}",
            "int Twice(int x) { return x; }",
            "constexpr int Twice(int x) {\n  return x;\n}",
        ):
            self.assert_found("Twice", source(way), source("int Twice(char x) {\n  return x;\n}"))
        self.assert_found("Twice", source("", "static int Twice(int x) {\n}"), source("int Twice(char x) {\n}"))

    def test_constants_types_and_different_aliases_are_found(self):
        for name, first, second in (
            ("kMost", "constexpr std::size_t kMost = 3;", "constexpr std::size_t kMost{4};"),
            ("kWords", 'const char* const kWords[] = {"a"};', "constexpr std::array<Word, 2> kWords = {{"),
            ("Row", "struct Row {", "class Row : public Base {"),
            ("Kind", "enum class Kind { kA };", "using Kind = Setting::Kind;"),
            ("Ids", "using Ids = std::set<int>;", "using Ids = std::vector<int>;"),
        ):
            self.assert_found(name, source(first), source(second))

    def test_what_another_file_offers_is_found(self):
        self.assert_found("Run", source("int Run(int x) {\n}"), source("", "int Run(const Program& x) {\n}"))

    def test_what_cannot_be_mistaken_passes(self):
        own = "int Twice(int x) {\n  return x;\n}"
        for first, second in (
            (source(own), source(own, around="partita::b")),
            (source("using Ids = std::set<int>;"), source("using Ids = std::set<int>;")),
            (source("", "int ToString(A a) {\n}"), source("", "int ToString(B b) {\n}")),
            (source(own), source("", "int Number::Twice(int x) { return Twice(x); }")),
            (source("TEST(A, B) {\n}\nstruct Row;\n"), source("TEST(A, C) {\n}\nstruct Row;\n")),
        ):
            self.assertEqual(self.check_pair(first, second), (0, ""), f"{first}{second}")

    def test_tests_are_apart_from_what_they_test(self):
        own = source("int Twice(int x) {\n  return x;\n}")
        self.assertEqual(self.check_pair(own, ""), (0, ""))
        self.write("src/a/x_test.cc", own)
        self.assertEqual(self.check(), (0, ""))
        self.write("src/a/y_test.cc", own)
        self.assertEqual(self.check(), (1, f"Twice is in src/a/x_test.cc and src/a/y_test.cc: {ADVICE}"))

    def test_a_target_of_several_folders_is_one_place_and_two_targets_are_two(self):
        own = source("int Twice(int x) {\n  return x;\n}")
        self.write("sim/a/b/x.cc", own)
        self.write("sim/a/c/y.cc", own)
        self.write("sim/a/CMakeLists.txt", "one(b SOURCES b/x.cc)\n# c/y.cc)\ntwo(c\n  SOURCES\n  c/y.cc)\n")
        self.assertEqual(self.check(), (0, ""))
        self.write("sim/a/CMakeLists.txt", "one(\n  b\n  SOURCES\n  b/x.cc # this\n  c/y.cc\n  DEPS d)\n")
        self.assertEqual(self.check(), (1, f"Twice is in sim/a/b/x.cc and sim/a/c/y.cc: {ADVICE}"))


if __name__ == "__main__":
    unittest.main()
