#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "base/command_line.h"
#include "cli/commands.h"
#include "cli/exit_status.h"
#include "cli/labels/feature_discovery.h"
#include "cli/parted/parted.h"
#include "cli/selector/config_selector.h"
#include "tests/golden/golden.h"

namespace partita::cli {
namespace {

TEST(Program, ExplainsItself) {
  const base::Program program = MakeProgram();
  const std::vector<std::string> status = {"status"};
  golden::ExpectGolden("help/partita.txt", base::HelpText(program, {}));
  golden::ExpectGolden("help/partita-status.txt", base::HelpText(program, status));
  const std::vector<std::string> mig = {"mig"}, plan = {"mig", "plan"}, apply = {"mig", "apply"};
  golden::ExpectGolden("help/partita-mig.txt", base::HelpText(program, mig));
  golden::ExpectGolden("help/partita-mig-plan.txt", base::HelpText(program, plan));
  golden::ExpectGolden("help/partita-mig-apply.txt", base::HelpText(program, apply));
  const std::vector<std::string> agent = {"agent"}, config = {"config"};
  golden::ExpectGolden("help/partita-agent.txt", base::HelpText(program, agent));
  golden::ExpectGolden("help/partita-config.txt", base::HelpText(program, config));
  const std::vector<std::string> cdi = {"cdi"};
  golden::ExpectGolden("help/partita-cdi.txt", base::HelpText(program, cdi));
  const std::vector<std::string> labels = {"labels", "show"};
  golden::ExpectGolden("help/partita-labels-show.txt", base::HelpText(program, labels));
  const std::vector<std::string> explain = {"explain"};
  golden::ExpectGolden("help/partita-explain.txt", base::HelpText(program, explain));
  const std::vector<std::string> doctor = {"doctor"};
  golden::ExpectGolden("help/partita-doctor.txt", base::HelpText(program, doctor));
  const std::vector<std::string> configure = {"runtime", "configure"};
  golden::ExpectGolden("help/partita-runtime-configure.txt", base::HelpText(program, configure));
  golden::ExpectGolden("help/nvidia-mig-parted.txt", base::HelpText(MakeMigPartedProgram(), {}));
  golden::ExpectGolden("help/gpu-feature-discovery.txt",
                       base::HelpText(MakeFeatureDiscoveryProgram(), {}));
  golden::ExpectGolden("help/config-manager.txt", base::HelpText(MakeConfigSelectorProgram(), {}));
}

TEST(Program, DocumentsEveryExitStatus) {
  std::set<int> documented;
  for (const base::ExitStatus& status : MakeProgram().exit_statuses) documented.insert(status.code);
  EXPECT_EQ(documented, (std::set<int>{kExitDone, kExitError, kExitInvalidInput, kExitNotApplied,
                                       kExitBlocked, kExitResetRequired, kExitNoDriver}));
}

void ExpectExplained(const base::Command& command) {
  EXPECT_FALSE(command.summary.empty()) << command.name;
  EXPECT_FALSE(command.examples.empty()) << command.name;
  EXPECT_TRUE(command.run || !command.commands.empty()) << command.name;
  for (const base::Command& below : command.commands) ExpectExplained(below);
}

TEST(Program, GivesEveryCommandASummaryAndAnExample) {
  for (const base::Command& command : MakeProgram().root.commands) ExpectExplained(command);
}

}  // namespace
}  // namespace partita::cli
