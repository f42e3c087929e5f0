#include "config/hooks_file.h"

#include <gtest/gtest.h>

namespace partita::config {
namespace {

std::string HooksFileProblems(std::string text) {
  const base::Result<HooksFile> file = HooksFile::Parse(std::move(text), "hooks.yaml");
  return file.ok() ? "" : file.error().message();
}

TEST(HooksFile, ReadsCommandsInOrder) {
  const auto file = HooksFile::Parse(
      "version: v1\n"
      "hooks:\n"
      "  apply-start:\n"
      "  - workdir: \"/etc/nvidia-mig-manager\"\n"
      "    command: \"/bin/bash\"\n"
      "    args: [\"-x\", \"-c\", \"source hooks.sh; apply-start ${MIG_PARTED_SELECTED_CONFIG}\"]\n"
      "    envs: {MODE: fast, LEVEL: 3, EMPTY: }\n"
      "    timeout: 90\n"
      "  - command: /bin/true\n"
      "  after-hours:\n"
      "  - {command: /bin/false, args: , envs: , workdir: }\n",
      "hooks.yaml");
  ASSERT_TRUE(file.ok()) << file.error().message();
  const std::vector<HookCommand>& hooks = file->At("apply-start");
  ASSERT_EQ(hooks.size(), 2U);
  EXPECT_EQ(hooks[0].command, "/bin/bash");
  EXPECT_EQ(hooks[0].args,
            (std::vector<std::string>{
                "-x", "-c", "source hooks.sh; apply-start ${MIG_PARTED_SELECTED_CONFIG}"}));
  EXPECT_EQ(hooks[0].envs,
            (std::map<std::string, std::string>{{"MODE", "fast"}, {"LEVEL", "3"}, {"EMPTY", ""}}));
  EXPECT_EQ(hooks[0].workdir, "/etc/nvidia-mig-manager");
  EXPECT_EQ(hooks[0].timeout, std::chrono::seconds(90));
  EXPECT_EQ(hooks[1], (HookCommand{"/bin/true", {}, {}, ""}));
  EXPECT_TRUE(file->At("apply-exit").empty());
}

TEST(HooksFile, AcceptsFilesWithoutHooks) {
  for (const char* text : {"", "version: v1\n"}) {
    const auto file = HooksFile::Parse(text, "hooks.yaml");
    ASSERT_TRUE(file.ok()) << text;
    EXPECT_EQ(*file, HooksFile());
  }
}

TEST(HooksFile, RefusesWhatItDoesNotUnderstand) {
  struct Case {
    const char* name;
    const char* text;
    const char* problems;
  };
  const std::vector<Case> cases = {
      {"no version", "hooks: {}\n",
       "hooks.yaml:1:1: missing key \"version\"\n"
       "    1 | hooks: {}\n"
       "      | ^"},
      {"another version", "version: 1\n",
       "hooks.yaml:1:10: unknown version \"1\"\n"
       "    1 | version: 1\n"
       "      |          ^ only v1 exists"},
      {"an unknown key", "version: v1\nhook: {}\n",
       "hooks.yaml:2:1: unknown key \"hook\"\n"
       "    2 | hook: {}\n"
       "      | ^^^^ did you mean \"hooks\"?"},
      {"an empty hook", "version: v1\nhooks: {apply-start: []}\n",
       "hooks.yaml:2:9: hook \"apply-start\" is empty\n"
       "    2 | hooks: {apply-start: []}\n"
       "      |         ^^^^^^^^^^^ it needs at least one entry"},
      {"no command", "version: v1\nhooks: {apply-start: [{args: [a]}]}\n",
       "hooks.yaml:2:23: missing key \"command\"\n"
       "    2 | hooks: {apply-start: [{args: [a]}]}\n"
       "      |                       ^"},
      {"an empty command", "version: v1\nhooks: {apply-start: [{command: \"\"}]}\n",
       "hooks.yaml:2:33: the command is empty\n"
       "    2 | hooks: {apply-start: [{command: \"\"}]}\n"
       "      |                                 ^^ give the path of a program"},
      {"an unknown field", "version: v1\nhooks: {apply-start: [{command: a, env: {}}]}\n",
       "hooks.yaml:2:36: unknown key \"env\"\n"
       "    2 | hooks: {apply-start: [{command: a, env: {}}]}\n"
       "      |                                    ^^^ did you mean \"envs\"?"},
      {"arguments as one word", "version: v1\nhooks: {apply-start: [{command: a, args: -x}]}\n",
       "hooks.yaml:2:42: expected a list of arguments, not \"-x\"\n"
       "    2 | hooks: {apply-start: [{command: a, args: -x}]}\n"
       "      |                                          ^^ write it as \"- item\" lines or [a, "
       "b]"},
      {"no time at all", "version: v1\nhooks: {apply-start: [{command: a, timeout: 0}]}\n",
       "hooks.yaml:2:45: expected a number from 1 to 86400, not \"0\"\n"
       "    2 | hooks: {apply-start: [{command: a, timeout: 0}]}\n"
       "      |                                             ^"},
      {"a bad variable", "version: v1\nhooks: {apply-start: [{command: a, envs: {A=B: c}}]}\n",
       "hooks.yaml:2:43: \"A=B\" is no name of a variable\n"
       "    2 | hooks: {apply-start: [{command: a, envs: {A=B: c}}]}\n"
       "      |                                           ^^^"},
  };
  for (const Case& c : cases) EXPECT_EQ(HooksFileProblems(c.text), c.problems) << c.name;
}

}  // namespace
}  // namespace partita::config
