// A change as values: what is ordered, and what is told of it on the way. A command makes it, and
// carries it out itself or has the agent do so; both tell the same.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "service/mig/boot_selection.h"
#include "service/mig/goal_source.h"
#include "service/mig/node_plan.h"
#include "service/mig/procedure.h"

namespace partita::service::mig {

// Programs around a change. The file's text travels: whoever runs them need not see the file.
struct HookOrder {
  std::string file;  // how problems call it
  std::string text;  // empty: no hooks
  std::map<std::string, std::string> variables;
  std::string directory;  // where the command was given
  bool operator==(const HookOrder&) const = default;
};

struct RemoteOrder {
  GoalSource source;
  bool skip_reset = false;
  bool mode_only = false;
  std::string command;    // "partita mig apply", told to whoever comes second
  bool wait = false;      // for another change to end
  bool in_steps = false;  // see ChangeOrder
  std::optional<HookOrder> hooks = std::nullopt;
  Remember remember = Remember::kAwaited;
  std::optional<BootSelection> selection = std::nullopt;
  bool tell_hooks = false;  // each that starts, and what all of them wrote
  // Nothing is done but what was agreed to; without that nothing.
  bool must_agree = false;
  std::optional<std::vector<GpuSteps>> agreed = std::nullopt;
  bool operator==(const RemoteOrder&) const = default;
};

enum class NewsKind : std::uint8_t {
  kStep,        // `where` is the GPU; `done` false: it begins
  kHookStarts,  // `where` is the point, `text` the command
  kHookWrote,
  kDebug,
  kWaiting,  // for `text`, who is changing this node's GPUs
  kThroughPci,
  kLine,  // of a boot
};

struct ChangeNews {
  NewsKind kind = NewsKind::kLine;
  std::string text = {};
  std::string where = {};
  bool done = false;
  bool operator==(const ChangeNews&) const = default;
};
using TellNews = std::function<void(const ChangeNews& news)>;

// Fails (kInvalid) where the order's texts are wrong. What is told and `stop` outlive the order.
[[nodiscard]] base::Result<ChangeOrder> MakeOrder(const RemoteOrder& order,
                                                  const TellNews& tell,
                                                  std::atomic<bool>* stop);

}  // namespace partita::service::mig
