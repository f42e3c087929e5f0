#include <algorithm>
#include <cmath>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/core.h>

#include "base/text.h"
#include "sim/state/holders.h"
#include "sim/state/life.h"
#include "sim/state/mig.h"
#include "sim/tool/commands.h"
#include "sim/tool/nodes.h"
#include "sim/tool/pci_tree.h"
#include "sim/tool/words.h"

namespace partita::sim::tool {
namespace {

using base::ErrorCode;

constexpr std::string_view kAuto = "auto";

// Where one assignment goes.
struct Target {
  const Board& board;
  Gpu& gpu;
  bool held;
};

struct Setting {
  std::string key;
  std::string help;
  // Checks the text and changes the GPU.
  std::function<base::Result<void>(std::string_view, Target&)> apply;
};

base::Result<std::uint64_t> ParseNumber(std::string_view text, std::uint64_t max) {
  const auto number = base::ParseUnsigned(text);
  if (number && *number <= max) return *number;
  return base::MakeError(ErrorCode::kInvalid, "not a number from 0 to {}: {}", max,
                         base::Quoted(text));
}

// "250W", "250.5W", "250": milliwatts.
base::Result<std::uint32_t> ParsePower(std::string_view text) {
  std::string_view number = text.ends_with("W") ? text.substr(0, text.size() - 1) : text;
  const std::vector<std::string_view> parts = base::Split(number, '.');
  const auto watts = base::ParseUnsigned(parts.front());
  const auto fraction =
      parts.size() == 2 ? base::ParseUnsigned(parts.back()) : std::optional<std::uint64_t>(0);
  const std::size_t digits = parts.size() == 2 ? parts.back().size() : 0;
  if (parts.size() > 2 || digits > 3 || !watts || !fraction || *watts > 100'000) {
    return base::MakeError(ErrorCode::kInvalid, "not a power: {}", base::Quoted(text))
        .WithHint("write 250, 250W or 249.5W, at most 100000 W");
  }
  const double scaled = static_cast<double>(*fraction) * std::pow(10, 3 - static_cast<int>(digits));
  return static_cast<std::uint32_t>(*watts * 1000 + static_cast<std::uint64_t>(scaled));
}

Setting Reading(std::string key, std::string help, Fact Gpu::*member, std::uint64_t max) {
  return {std::move(key), std::move(help),
          [=](std::string_view text, Target& target) -> base::Result<void> {
            if (text == kAuto) {
              target.gpu.*member = {0, 0};
              return {};
            }
            TRY(value, ParseNumber(text, max));
            target.gpu.*member = {1, static_cast<std::uint32_t>(value)};
            return {};
          }};
}

Setting Words(std::string key,
              std::string help,
              std::uint32_t Gpu::*member,
              std::span<const Word> words) {
  return {std::move(key), std::move(help),
          [=](std::string_view text, Target& target) -> base::Result<void> {
            if (text == kAuto) {
              target.gpu.*member = 0;
              return {};
            }
            TRY(value, ParseWord(words, text));
            target.gpu.*member = value;
            return {};
          }};
}

base::Result<void> CheckRemapsRows(const Board& board) {
  if (board.row_remap_max_banks.known != 0) return {};
  return base::MakeError(ErrorCode::kInvalid, "{} does not remap rows", board.product);
}

Setting RowCount(std::string key, std::string help, std::uint32_t Gpu::*member) {
  return {std::move(key), std::move(help),
          [=](std::string_view text, Target& target) -> base::Result<void> {
            TRY_VOID(CheckRemapsRows(target.board));
            TRY(value, ParseNumber(text == kAuto ? "0" : text, 1'000'000));
            target.gpu.*member = static_cast<std::uint32_t>(value);
            return {};
          }};
}

Setting RowFlag(std::string key, std::string help, std::uint32_t Gpu::*member) {
  return {std::move(key), std::move(help),
          [=](std::string_view text, Target& target) -> base::Result<void> {
            TRY_VOID(CheckRemapsRows(target.board));
            TRY(value, ParseWord(SwitchWords(), text == kAuto ? "no" : text));
            target.gpu.*member = value;
            return {};
          }};
}

Setting EccCounter(std::string key, std::uint64_t (Gpu::*member)[2], int index) {
  std::string help = "ECC errors counted";
  return {std::move(key), std::move(help),
          [=](std::string_view text, Target& target) -> base::Result<void> {
            if (target.board.ecc.known == 0) {
              return base::MakeError(ErrorCode::kInvalid, "{} has no ECC", target.board.product);
            }
            TRY(value, ParseNumber(text == kAuto ? "0" : text, 1'000'000'000'000));
            (target.gpu.*member)[index] = value;
            return {};
          }};
}

base::Result<void> SetPower(std::string_view text, Target& target) {
  if (text == kAuto) {
    target.gpu.power_mw = {0, 0};
    return {};
  }
  TRY(power, ParsePower(text));
  target.gpu.power_mw = {1, power};
  return {};
}

base::Result<void> SetPowerLimit(std::string_view text, Target& target) {
  if (text == kAuto) {
    target.gpu.power_limit_mw = 0;
    return {};
  }
  TRY(limit, ParsePower(text));
  const Board& board = target.board;
  if (board.power_min_mw.known == 0 || board.power_max_mw.known == 0) {
    return base::MakeError(ErrorCode::kInvalid, "the power limits of {} are not known",
                           board.product);
  }
  if (limit < board.power_min_mw.value || limit > board.power_max_mw.value) {
    return base::MakeError(ErrorCode::kInvalid, "{} W is outside {} to {} W", limit / 1000,
                           board.power_min_mw.value / 1000, board.power_max_mw.value / 1000);
  }
  target.gpu.power_limit_mw = limit;
  return {};
}

base::Result<void> SetEcc(std::string_view text, Target& target) {
  if (target.board.ecc.known == 0) {
    return base::MakeError(ErrorCode::kInvalid, "{} has no ECC", target.board.product);
  }
  if (text == kAuto) text = target.board.ecc.value != 0 ? "on" : "off";
  TRY(value, ParseWord(SwitchWords(), text));
  target.gpu.ecc_current = target.gpu.ecc_pending = value;
  return {};
}

// The mode itself, past what a driver would ask first; use nvidia-smi -mig in the node for that.
base::Result<void> SetMig(std::string_view text, Target& target) {
  if (target.board.mig_activation == MigActivation::kNone) {
    return base::MakeError(ErrorCode::kInvalid, "{} cannot do MIG", target.board.product);
  }
  TRY(value, ParseWord(SwitchWords(), text == kAuto ? "off" : text));
  if (value != target.gpu.mig_current) {
    if (target.held) {
      return base::MakeError(ErrorCode::kBusy, "a workload holds the GPU")
          .WithHint("partita-sim workload list names it");
    }
    if (value == 0 && CountGpuInstances(target.gpu) > 0) {
      return base::MakeError(ErrorCode::kBusy, "GPU instances exist")
          .WithHint("destroy them first: nvidia-smi mig -dci, then -dgi");
    }
  }
  target.gpu.mig_current = target.gpu.mig_pending = value;
  return {};
}

base::Result<void> SetPciDriver(std::string_view text, Target& target) {
  TRY(value, ParseWord(PciDriverWords(), text == kAuto ? "nvidia" : text));
  const auto driver = static_cast<PciDriver>(value);
  if (driver == target.gpu.pci_driver) return {};
  if (target.held) {
    return base::MakeError(ErrorCode::kBusy, "a workload holds the GPU")
        .WithHint("partita-sim workload list names it");
  }
  DestroyAllInstances(target.gpu);  // they end with the nvidia driver's hold on the board
  target.gpu.pci_driver = driver;
  return {};
}

std::vector<Setting> MakeSettings() {
  return {
      Reading("temperature", "degrees Celsius", &Gpu::temperature, 200),
      {"power", "watts drawn", SetPower},
      Reading("utilization", "percent", &Gpu::utilization, 100),
      Reading("memory-utilization", "percent", &Gpu::memory_utilization, 100),
      {"power-limit", "watts, within the board's limits", SetPowerLimit},
      Words("compute-mode", "what processes may do", &Gpu::compute_mode, ComputeModeWords()),
      Words("persistence", "on or off", &Gpu::persistence_mode, SwitchWords()),
      Words("timeslice", "as nvidia-smi compute-policy sets it", &Gpu::timeslice, TimesliceWords()),
      Words("recovery-action", "what the driver asks for (field 230)", &Gpu::recovery_action,
            RecoveryActionWords()),
      {"mig", "the MIG mode, on or off, at once", SetMig},
      {"ecc", "on or off, at once", SetEcc},
      EccCounter("ecc-volatile-corrected", &Gpu::ecc_volatile, 0),
      EccCounter("ecc-volatile-uncorrected", &Gpu::ecc_volatile, 1),
      EccCounter("ecc-aggregate-corrected", &Gpu::ecc_aggregate, 0),
      EccCounter("ecc-aggregate-uncorrected", &Gpu::ecc_aggregate, 1),
      RowCount("rows-corrected", "rows remapped after corrected errors", &Gpu::rows_corrected),
      RowCount("rows-uncorrected", "rows remapped after uncorrected errors",
               &Gpu::rows_uncorrected),
      RowFlag("rows-pending", "a remapping waits for a reset", &Gpu::rows_pending),
      RowFlag("rows-failed", "a remapping failed", &Gpu::rows_failed),
      {"pci-driver", "nvidia, vfio or unbound", SetPciDriver},
  };
}

const std::vector<Setting>& Settings() {
  static const std::vector<Setting> settings = MakeSettings();
  return settings;
}

struct Assignment {
  const Setting* setting;
  std::string value;
};

base::Result<Assignment> ParseAssignment(const std::string& word, bool unset) {
  const std::size_t sign = word.find('=');
  if (unset ? sign != std::string::npos : sign == std::string::npos) {
    return base::MakeError(ErrorCode::kInvalid, "{} is not {}", base::Quoted(word),
                           unset ? "a key" : "KEY=VALUE")
        .WithHint(unset ? "partita-sim unset temperature" : "partita-sim set temperature=80");
  }
  const std::string key = word.substr(0, sign);
  const auto found = std::ranges::find(Settings(), key, &Setting::key);
  if (found == Settings().end()) {
    std::vector<std::string> keys;
    for (const Setting& setting : Settings()) keys.push_back(setting.key);
    const std::string near = base::DidYouMean(key, keys);
    return base::MakeError(ErrorCode::kInvalid, "unknown key {}", base::Quoted(key))
        .WithHint(near.empty() ? "known are " + base::JoinWithOr(keys)
                               : "did you mean " + base::Quoted(near) + "?");
  }
  return Assignment{&*found, unset ? std::string(kAuto) : word.substr(sign + 1)};
}

// The driver tells registered clients of such changes.
void Announce(const Gpu& before, std::uint32_t gpu, std::uint64_t supported, Slot& slot) {
  constexpr std::uint64_t kSingleBitEcc = 0x1, kDoubleBitEcc = 0x2, kRecoveryAction = 0x8000;
  const Gpu& after = slot.gpus[gpu];
  const auto tell = [&](bool changed, std::uint64_t type, std::uint64_t value) {
    if (changed && (supported & type) != 0) AddEvent(slot, gpu, type, value);
  };
  tell(after.ecc_volatile[0] > before.ecc_volatile[0], kSingleBitEcc, 0);
  tell(after.ecc_volatile[1] > before.ecc_volatile[1], kDoubleBitEcc, 0);
  tell(after.mig_current != before.mig_current, kEventMigConfigChange, 0);
  tell(after.recovery_action != before.recovery_action, kRecoveryAction, after.recovery_action);
}

base::Result<void> Apply(const base::Invocation& invocation, bool unset) {
  std::vector<Assignment> assignments;
  for (const std::string& word : invocation.arguments()) {
    TRY(assignment, ParseAssignment(word, unset));
    assignments.push_back(assignment);
  }
  TRY(node, Node::Open(invocation));
  TRY(gpus, ChooseGpus(node->machine(), invocation, true));
  auto changed = node->Change([&](const Machine& machine, Slot& slot) -> base::Result<void> {
    for (const std::uint32_t gpu : gpus) {
      const Gpu before = slot.gpus[gpu];
      Target target{machine.boards[gpu], slot.gpus[gpu], IsHeld(slot, gpu, kNone, kNone)};
      for (const Assignment& assignment : assignments) {
        TRY_VOID(assignment.setting->apply(assignment.value, target), "GPU {}: {}", gpu,
                 assignment.setting->key);
      }
      Announce(before, gpu, machine.boards[gpu].event_types, slot);
      TellOfDriver(slot, gpu, before.pci_driver);
    }
    return {};
  });
  if (!changed.ok()) return changed;
  return RenderDriverLinks(node->root(), node->machine(), *node->Snapshot());
}

}  // namespace

int RunSet(const base::Invocation& invocation) { return Finish(Apply(invocation, false)); }
int RunUnset(const base::Invocation& invocation) { return Finish(Apply(invocation, true)); }

std::string SettingsHelp() {
  std::string text = "Keys: ";
  for (const Setting& setting : Settings()) {
    text += fmt::format("{}{} ({})", text.size() > 6 ? ", " : "", setting.key, setting.help);
  }
  return text + ".";
}

}  // namespace partita::sim::tool
