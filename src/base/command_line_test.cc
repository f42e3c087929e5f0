#include "base/command_line.h"

#include <map>

#include <gtest/gtest.h>

#include "base/command_line_fixture.h"

namespace partita::base {
namespace {

using Words = std::vector<std::string>;

Result<Parsed> ParseWith(const Words& words,
                         const std::map<std::string, std::string>& variables = {}) {
  // The parsed command points into the program.
  static const Program program = SampleProgram();
  return ParseCommandLine(program, words,
                          [&](const std::string& name) -> std::optional<std::string> {
                            const auto found = variables.find(name);
                            if (found == variables.end()) return std::nullopt;
                            return found->second;
                          });
}

std::string ErrorOf(const Words& words, const std::map<std::string, std::string>& variables = {}) {
  const Result<Parsed> parsed = ParseWith(words, variables);
  return parsed.ok() ? "no error" : ErrorText("gpu-tool", parsed.error());
}

TEST(ParseCommandLine, TakesOptionsInEveryForm) {
  for (const Words& words :
       {Words{"status", "--output", "json", "-w"}, Words{"status", "--output=json", "--watch"},
        Words{"status", "-o", "json", "-w"}, Words{"status", "-wojson"},
        Words{"status", "-wo=json"}}) {
    const Result<Parsed> parsed = ParseWith(words);
    ASSERT_TRUE(parsed.ok()) << parsed.error().ToString();
    EXPECT_EQ(parsed->kind, Parsed::Kind::kRun);
    EXPECT_EQ(parsed->command->name, "status");
    EXPECT_EQ(parsed->invocation.path(), Words{"status"});
    EXPECT_EQ(parsed->invocation.Get("output"), "json");
    EXPECT_TRUE(parsed->invocation.Has("watch"));
    EXPECT_FALSE(parsed->invocation.Has("verbose"));
  }
}

TEST(ParseCommandLine, TakesTheOptionsOfCommandsAboveAnywhere) {
  for (const Words& words :
       {Words{"-v", "--driver-root=/drv", "mig", "apply", "-f", "x.yaml", "all"},
        Words{"mig", "-v", "apply", "--driver-root", "/drv", "-f", "x.yaml", "all"},
        Words{"mig", "apply", "all", "-f", "x.yaml", "-v", "--driver-root", "/drv"}}) {
    const Result<Parsed> parsed = ParseWith(words);
    ASSERT_TRUE(parsed.ok()) << parsed.error().ToString();
    EXPECT_EQ(parsed->invocation.path(), (Words{"mig", "apply"}));
    EXPECT_EQ(parsed->invocation.Get("driver-root"), "/drv");
    EXPECT_TRUE(parsed->invocation.Has("verbose"));
    EXPECT_EQ(parsed->invocation.arguments(), Words{"all"});
  }
}

TEST(ParseCommandLine, PrefersFlagThenEnvironmentThenDefault) {
  const std::map<std::string, std::string> set = {{"GPU_OUTPUT", "yaml"}, {"GPU_WATCH", "Yes"}};
  EXPECT_EQ(ParseWith({"status", "-o", "json"}, set)->invocation.Get("output"), "json");
  EXPECT_EQ(ParseWith({"status"}, set)->invocation.Get("output"), "yaml");
  EXPECT_TRUE(ParseWith({"status"}, set)->invocation.Has("output"));
  EXPECT_TRUE(ParseWith({"status"}, set)->invocation.Has("watch"));
  EXPECT_EQ(ParseWith({"status"})->invocation.Get("output"), "text");
  EXPECT_FALSE(ParseWith({"status"})->invocation.Has("output"));
  EXPECT_FALSE(ParseWith({"status"}, {{"GPU_WATCH", "0"}})->invocation.Has("watch"));
  EXPECT_EQ(ParseWith({"status"}, {{"GPU_OUTPUT", ""}})->invocation.Get("output"), "text");
  EXPECT_EQ(ParseWith({"status"})->invocation.Get("gpu"), std::nullopt);
  EXPECT_EQ(ParseWith({"status"})->invocation.Get("no-such"), std::nullopt);
}

TEST(ParseCommandLine, CollectsRepeatedOptionsAndArguments) {
  EXPECT_EQ(ParseWith({"status", "--gpu", "0", "--gpu=1"})->invocation.GetAll("gpu"),
            (Words{"0", "1"}));
  EXPECT_EQ(ParseWith({"mig", "apply", "-fx", "all", "0", "1"})->invocation.arguments(),
            (Words{"all", "0", "1"}));
  EXPECT_EQ(ParseWith({"mig", "apply", "-fx", "--", "-all"})->invocation.arguments(),
            Words{"-all"});
  EXPECT_EQ(ParseWith({"mig", "apply", "-fx", "-"})->invocation.arguments(), Words{"-"});
}

TEST(ParseCommandLine, HandsTheRestOverUnread) {
  for (const Words& words :
       {Words{"run", "0", "--", "ls", "--help", "-l"}, Words{"run", "0", "ls", "--help", "-l"},
        Words{"run", "-v", "0", "ls", "--help", "-l"}}) {
    const Result<Parsed> parsed = ParseWith(words);
    ASSERT_TRUE(parsed.ok()) << parsed.error().ToString();
    EXPECT_EQ(parsed->invocation.arguments(), Words{"0"});
    EXPECT_EQ(parsed->invocation.rest(), (Words{"ls", "--help", "-l"}));
  }
  EXPECT_EQ(ParseWith({"run", "0", "--", "a", "--", "b"})->invocation.rest(),
            (Words{"a", "--", "b"}));
}

TEST(ParseCommandLine, AnswersHelpWithTheDeepestCommandNamed) {
  for (const Words& words :
       {Words{"mig", "apply", "--help"}, Words{"--help", "mig", "apply"},
        Words{"help", "mig", "apply"}, Words{"mig", "-h", "apply"}, Words{"mig", "apply", "-vh"}}) {
    const Result<Parsed> parsed = ParseWith(words);
    ASSERT_TRUE(parsed.ok()) << parsed.error().ToString();
    EXPECT_EQ(parsed->kind, Parsed::Kind::kHelp);
    EXPECT_EQ(parsed->invocation.path(), (Words{"mig", "apply"}));
  }
  EXPECT_EQ(ParseWith({"--version"})->kind, Parsed::Kind::kVersion);
}

TEST(ParseCommandLine, RunsHiddenCommands) {
  EXPECT_EQ(ParseWith({"secret"})->command->name, "secret");
}

TEST(ParseCommandLine, ExplainsEveryMistake) {
  struct Case {
    Words words;
    std::string text;
  };
  const std::string root = "  \"gpu-tool --help\" says what it takes\n";
  const std::string status = "  \"gpu-tool status --help\" says what it takes\n";
  const std::string apply = "  \"gpu-tool mig apply --help\" says what it takes\n";
  const Case cases[] = {
      {{}, "gpu-tool: no command given\n" + root},
      {{"mig"}, "gpu-tool: no command given\n  \"gpu-tool mig --help\" says what it takes\n"},
      {{"stauts"}, "gpu-tool: unknown command \"stauts\"\n  did you mean \"status\"?\n" + root},
      {{"secre"}, "gpu-tool: unknown command \"secre\"\n" + root},
      {{"status", "--outptu", "x"},
       "gpu-tool: unknown option \"--outptu\"\n  did you mean \"--output\"?\n" + status},
      {{"--watch", "status"},
       "gpu-tool: unknown option \"--watch\"\n"
       "  it is an option of \"gpu-tool status\": write it after the command\n" +
           root},
      {{"status", "--version"}, "gpu-tool: unknown option \"--version\"\n" + status},
      {{"status", "-wx"}, "gpu-tool: unknown option \"-x\"\n" + status},
      {{"status", "-o", "jsn"},
       "gpu-tool: option -o takes text, json or yaml, not \"jsn\"\n  did you mean \"json\"?\n" +
           status},
      {{"status", "--output="},
       "gpu-tool: option --output takes text, json or yaml, not \"\"\n" + status},
      {{"status", "-o"}, "gpu-tool: option -o needs a value: FORMAT\n" + status},
      {{"status", "--watch=yes"}, "gpu-tool: option --watch takes no value\n" + status},
      {{"status", "-o", "json", "--output=text"},
       "gpu-tool: option --output is given twice\n" + status},
      {{"status", "gpu"}, "gpu-tool: unexpected argument \"gpu\"\n" + status},
      {{"status", "--", "gpu"}, "gpu-tool: unexpected argument \"gpu\"\n" + status},
      {{"mig", "apply", "all"}, "gpu-tool: missing option --config-file FILE\n" + apply},
      {{"mig", "apply", "-f", "x"}, "gpu-tool: missing argument LAYOUT\n" + apply},
      {{"completion", "bsh"},
       "gpu-tool: SHELL takes bash, zsh or fish, not \"bsh\"\n  did you mean \"bash\"?\n"
       "  \"gpu-tool completion --help\" says what it takes\n"},
      {{"a\nb"}, "gpu-tool: unknown command \"a\\nb\"\n" + root},
  };
  for (const Case& each : cases) EXPECT_EQ(ErrorOf(each.words), each.text);
}

TEST(ParseCommandLine, ExplainsMistakesInTheEnvironment) {
  EXPECT_EQ(ErrorOf({"status"}, {{"GPU_OUTPUT", "jsn"}}),
            "gpu-tool: environment variable GPU_OUTPUT takes text, json or yaml, not \"jsn\"\n"
            "  did you mean \"json\"?\n"
            "  \"gpu-tool status --help\" says what it takes\n");
  EXPECT_EQ(ErrorOf({"status"}, {{"GPU_WATCH", "maybe"}}),
            "gpu-tool: environment variable GPU_WATCH takes true or false, not \"maybe\"\n"
            "  \"gpu-tool status --help\" says what it takes\n");
}

int RunMain(const Program& program, Words words, std::string* out, std::string* err) {
  words.insert(words.begin(), program.root.name);
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  testing::internal::CaptureStdout();
  testing::internal::CaptureStderr();
  const int status = Main(program, static_cast<int>(argv.size()), argv.data());
  *out = testing::internal::GetCapturedStdout();
  *err = testing::internal::GetCapturedStderr();
  return status;
}

TEST(Main, RunsTheCommandAndReturnsItsStatus) {
  std::string seen;
  const Program program = SampleProgram([&](const Invocation& invocation) {
    seen = *invocation.Get("output");
    return 5;
  });
  std::string out;
  std::string err;
  EXPECT_EQ(RunMain(program, {"status", "-o", "yaml"}, &out, &err), 5);
  EXPECT_EQ(seen, "yaml");
  EXPECT_EQ(out + err, "");
}

TEST(Main, PrintsHelpAndVersionToStandardOutputAndErrorsToTheOther) {
  const Program program = SampleProgram();
  std::string out;
  std::string err;
  EXPECT_EQ(RunMain(program, {"--version"}, &out, &err), 0);
  EXPECT_EQ(out, "gpu-tool 0.1.0\n");
  EXPECT_EQ(RunMain(program, {"run", "--help"}, &out, &err), 0);
  EXPECT_EQ(out, HelpText(program, Words{"run"}));
  EXPECT_EQ(RunMain(program, {"nonsense"}, &out, &err), 2);
  EXPECT_EQ(out, "");
  EXPECT_EQ(err,
            "gpu-tool: unknown command \"nonsense\"\n  \"gpu-tool --help\" says what it takes\n");
}

}  // namespace
}  // namespace partita::base
