// The commands of `partita mig`. Each function runs one and returns its exit status.
#pragma once

#include "base/command_line.h"

namespace partita::cli {

int RunMigProfiles(const base::Invocation& invocation);
int RunMigLayouts(const base::Invocation& invocation);
int RunMigShow(const base::Invocation& invocation);
int RunMigPlan(const base::Invocation& invocation);
int RunMigDiff(const base::Invocation& invocation);
int RunMigValidate(const base::Invocation& invocation);
int RunMigExport(const base::Invocation& invocation);
int RunMigAssert(const base::Invocation& invocation);
int RunMigGenerateConfig(const base::Invocation& invocation);
int RunMigApply(const base::Invocation& invocation);
int RunMigCheckpoint(const base::Invocation& invocation);
int RunMigBoot(const base::Invocation& invocation);
int RunMigRestore(const base::Invocation& invocation);

// The table of `mig`: options, help and examples.
[[nodiscard]] base::Command MigCommand();

}  // namespace partita::cli
