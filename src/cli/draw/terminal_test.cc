#include "cli/draw/terminal.h"

#include <map>
#include <string>

#include <gtest/gtest.h>

namespace partita::cli {
namespace {

using Variables = std::map<std::string, std::string>;

GetEnvironment From(Variables variables) {
  return [variables = std::move(variables)](const char* name) -> std::optional<std::string> {
    const auto found = variables.find(name);
    return found == variables.end() ? std::nullopt : std::optional(found->second);
  };
}

Look Choose(const LookWish& wish, const Terminal& terminal, const Variables& variables) {
  return ChooseLook(wish, terminal, From(variables)).value();
}

const Terminal kScreen{true, 132, 40};
const Terminal kPipe{false, std::nullopt, std::nullopt};

TEST(ChooseLook, TakesWidthFromOptionThenTerminalThenEighty) {
  EXPECT_EQ(Choose({"100", "auto", false}, kScreen, {}).width, 100);
  EXPECT_EQ(Choose({}, kScreen, {}).width, 132);
  EXPECT_EQ(Choose({}, kPipe, {}).width, 80);
  EXPECT_EQ(Choose({}, {true, 20, 10}, {}).width, 60);
}

TEST(ChooseLook, RefusesAWidthThatIsNone) {
  for (const char* width : {"", "abc", "59", "501", "-80", "80x"}) {
    EXPECT_FALSE(ChooseLook({width, "auto", false}, kScreen, From({})).ok()) << width;
  }
  EXPECT_EQ(ChooseLook({"wide", "auto", false}, kScreen, From({})).error().ToString(),
            "--width \"wide\": not a number from 60 to 500");
}

TEST(ChooseLook, ColoursATerminalUnlessAskedNotTo) {
  struct Case {
    const char* name;
    const char* wish;
    Terminal terminal;
    Variables variables;
    bool colour;
  };
  const Case cases[] = {
      {"terminal", "auto", kScreen, {{"TERM", "xterm"}}, true},
      {"pipe", "auto", kPipe, {{"TERM", "xterm"}}, false},
      {"dumb", "auto", kScreen, {{"TERM", "dumb"}}, false},
      {"no TERM", "auto", kScreen, {}, false},
      {"NO_COLOR", "auto", kScreen, {{"TERM", "xterm"}, {"NO_COLOR", "1"}}, false},
      {"empty NO_COLOR", "auto", kScreen, {{"TERM", "xterm"}, {"NO_COLOR", ""}}, true},
      {"always", "always", kPipe, {{"NO_COLOR", "1"}}, true},
      {"never", "never", kScreen, {{"TERM", "xterm"}}, false},
  };
  for (const Case& c : cases) {
    const LookWish wish{std::nullopt, c.wish, false};
    EXPECT_EQ(Choose(wish, c.terminal, c.variables).colour, c.colour) << c.name;
  }
}

TEST(ChooseLook, DrawsInUtf8WhereTheLocaleSaysSo) {
  EXPECT_TRUE(Choose({}, kScreen, {{"LANG", "en_US.UTF-8"}}).utf8);
  EXPECT_TRUE(Choose({}, kScreen, {{"LC_CTYPE", "C.utf8"}, {"LANG", "C"}}).utf8);
  EXPECT_TRUE(Choose({}, kScreen, {{"LC_ALL", ""}, {"LANG", "C.UTF-8"}}).utf8);
  EXPECT_FALSE(Choose({}, kScreen, {{"LC_ALL", "C"}, {"LANG", "en_US.UTF-8"}}).utf8);
  EXPECT_FALSE(Choose({}, kScreen, {}).utf8);
  EXPECT_FALSE(Choose({std::nullopt, "auto", true}, kScreen, {{"LANG", "C.UTF-8"}}).utf8);
}

}  // namespace
}  // namespace partita::cli
