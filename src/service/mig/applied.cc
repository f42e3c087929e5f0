#include "service/mig/applied.h"

#include <utility>
#include <vector>

#include "base/state_file.h"
#include "base/value.h"
#include "service/mig/node_plan.h"

namespace partita::service::mig {

namespace {

base::StateFile MemoryFile(const std::string& directory = base::StateDirectory()) {
  return {AppliedFile(directory), "mig", 1};
}

}  // namespace

std::string AppliedFile(const std::string& state_directory) {
  return state_directory + "/mig.json";
}

base::Result<void> RememberApplied(const model::Inventory& after, const NodeGoalFn& goal) {
  TRY(targets, goal(after));
  // Only what was meant: another GPU may be in a state that nobody can read.
  model::Inventory meant;
  std::vector<std::string> uuids;
  for (const GpuTarget& target : targets) {
    const model::Gpu* gpu = model::FindGpu(after, target.gpu);
    if (gpu == nullptr) return GoneError(target.gpu);
    meant.gpus.push_back(*gpu);
    if (gpu->uuid) uuids.push_back(gpu->uuid->value());
  }
  TRY(document, CheckpointDocument(meant));
  TRY(now, Checkpoint::Parse(base::ToJson(document), "what is there"));
  TRY(before, RecallApplied());
  Checkpoint layout = before.layout.value_or(Checkpoint());
  layout.Update(now, uuids);
  return base::WriteState(MemoryFile(), base::ToJson(layout.ToDocument()));
}

base::Result<Remembered> RecallApplied(const std::string& state_directory) {
  const base::StateFile file = MemoryFile(state_directory);
  TRY(read, base::ReadState(file));
  Remembered remembered;
  remembered.warning = std::move(read.warning);
  if (read.payload) {
    TRY(layout, Checkpoint::Parse(*std::move(read.payload), file.path));
    remembered.layout = std::move(layout);
  }
  return remembered;
}

}  // namespace partita::service::mig
