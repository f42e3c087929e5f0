// What somebody wants of a node's GPUs: words, a configuration of a file, or a checkpoint. As a
// value it can be sent to the agent, which makes the same goals of it as a command does.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "config/mig_config.h"
#include "model/inventory.h"
#include "service/mig/apply.h"
#include "service/mig/checkpoint.h"
#include "service/mig/node_goal.h"
#include "service/mig/wanted_text.h"

namespace partita::service::mig {

enum class GoalKind : std::uint8_t { kWords, kFile, kCheckpoint };

struct GoalSource {
  GoalKind kind = GoalKind::kWords;
  std::string text;                    // the words, or all that the file holds
  std::string file;                    // how problems call it
  std::string config;                  // kFile: which configuration of it; empty: the only one
  std::vector<std::string> gpus = {};  // that --gpu names; empty: all that are meant
  // As nvidia-mig-parted: entries for GPUs that are not here are passed over, and what is for no
  // GPU is done.
  bool as_reference = false;
  bool operator==(const GoalSource&) const = default;
};

// Copies share what was read.
class WantedGoal {
 public:
  // All problems at once, in caret form. They name the file, or --want.
  [[nodiscard]] static base::Result<WantedGoal> Parse(GoalSource source);

  // For the GPUs that are named, else for all that are meant. Fails (kInvalid) where it is for no
  // GPU, whether it turns MIG on or off, for none that can do the MIG that is wanted, or for one
  // that is not there. Empty where it turns MIG off on GPUs that cannot do it.
  [[nodiscard]] base::Result<NodeGoal> Resolve(const model::Inventory& node) const;
  // What Resolve does for modes alone, on a look without a driver. A checkpoint has none.
  [[nodiscard]] base::Result<NodeGoal> ResolveModes(const model::Inventory& node) const;
  // Which GPUs "all" leaves out, since they cannot be asked, a line each.
  [[nodiscard]] std::vector<std::string> LeftOut(const model::Inventory& node,
                                                 const NodeGoal& goal) const;

  // The same as functions, which keep what they need.
  [[nodiscard]] NodeGoalFn Goal() const;
  [[nodiscard]] NodeGoalFn Modes() const;  // empty for a checkpoint

  [[nodiscard]] const GoalSource& source() const { return source_; }

 private:
  explicit WantedGoal(GoalSource source) : source_(std::move(source)) {}
  [[nodiscard]] bool WantsMig() const;
  // Whether it is about this GPU, whatever that can do.
  [[nodiscard]] bool Means(const model::Gpu& gpu) const;
  [[nodiscard]] base::Result<void> CheckMeant(const model::Inventory& node,
                                              const NodeGoal& goal) const;
  [[nodiscard]] base::Result<NodeGoal> ResolveWords(const model::Inventory& node) const;
  [[nodiscard]] base::Result<NodeGoal> ResolveFile(const model::Inventory& node) const;

  GoalSource source_;
  std::optional<WantedText> wanted_;
  std::shared_ptr<const config::MigConfigFile> file_;
  const config::MigConfig* config_ = nullptr;  // inside file_
  std::shared_ptr<const Checkpoint> checkpoint_;
};

}  // namespace partita::service::mig
