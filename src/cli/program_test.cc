#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "base/command_line.h"
#include "cli/commands.h"
#include "cli/exit_status.h"
#include "tests/golden/golden.h"

namespace partita::cli {
namespace {

TEST(Program, ExplainsItself) {
  const base::Program program = MakeProgram();
  const std::vector<std::string> status = {"status"};
  golden::ExpectGolden("help/partita.txt", base::HelpText(program, {}));
  golden::ExpectGolden("help/partita-status.txt", base::HelpText(program, status));
}

TEST(Program, DocumentsEveryExitStatus) {
  std::set<int> documented;
  for (const base::ExitStatus& status : MakeProgram().exit_statuses) documented.insert(status.code);
  EXPECT_EQ(documented, (std::set<int>{kExitDone, kExitError, kExitInvalidInput, kExitNotApplied,
                                       kExitBlocked, kExitResetRequired, kExitNoDriver}));
}

TEST(Program, GivesEveryCommandASummaryAndAnExample) {
  for (const base::Command& command : MakeProgram().root.commands) {
    EXPECT_FALSE(command.summary.empty()) << command.name;
    EXPECT_FALSE(command.examples.empty()) << command.name;
    EXPECT_TRUE(command.run) << command.name;
  }
}

}  // namespace
}  // namespace partita::cli
