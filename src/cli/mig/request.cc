#include "cli/mig/request.h"

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <limits>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "base/files.h"
#include "base/text.h"
#include "config/problems.h"
#include "model/gpu_selection.h"
#include "model/unread.h"
#include "service/mig/node_plan.h"

namespace partita::cli {

namespace {

using service::mig::NodeGoal;

constexpr std::string_view kWantOption = "--want";

config::Node PlaceOf(int column, std::string_view text) {
  config::Node node;
  node.column = column;
  node.length = std::max(1, static_cast<int>(base::CountCharacters(text)));
  return node;
}

// "id:19" is a name; what follows the last colon of anything else is a count.
std::size_t CountColon(std::string_view piece) {
  const std::size_t colon = piece.rfind(':');
  return colon != std::string_view::npos && piece.substr(0, colon) == "id" ? std::string_view::npos
                                                                           : colon;
}

void ReadEntry(std::string_view piece,
               int column,
               config::Problems& problems,
               std::vector<WantedText::Entry>& entries) {
  const std::size_t colon = CountColon(piece);
  const std::string_view name = piece.substr(0, colon);
  if (name.empty()) {
    problems.Add(PlaceOf(column, piece), "a profile is missing",
                 "write PROFILE:COUNT, as 1g.5gb:7; several with commas");
    return;
  }
  std::uint64_t count = 1;
  if (colon != std::string_view::npos) {
    const std::string_view digits = piece.substr(colon + 1);
    const std::optional<std::uint64_t> number = base::ParseUnsigned(digits);
    if (!number || *number > std::numeric_limits<std::uint32_t>::max()) {
      const int at = column + static_cast<int>(base::CountCharacters(piece.substr(0, colon + 1)));
      problems.Add(PlaceOf(at, digits), fmt::format("{} is no count", base::Quoted(digits)),
                   "a whole number, as in 1g.5gb:7");
      return;
    }
    count = *number;
  }
  entries.push_back({std::string(name), static_cast<std::uint32_t>(count), column});
}

// The GPUs that are named, or all.
struct Choice {
  bool all = true;
  std::vector<model::GpuIdentity> gpus = {};

  [[nodiscard]] bool Has(const model::GpuIdentity& gpu) const {
    return all || std::find(gpus.begin(), gpus.end(), gpu) != gpus.end();
  }
  [[nodiscard]] bool Has(const model::Gpu& gpu) const { return Has(model::GpuIdentity::Of(gpu)); }
};

base::Result<Choice> Chosen(const model::Inventory& node, const std::vector<std::string>& gpus) {
  Choice choice;
  if (gpus.empty()) return choice;
  choice.all = false;
  TRY(selected, model::SelectGpus(node, gpus));
  for (const model::Gpu& gpu : selected.gpus) choice.gpus.push_back(model::GpuIdentity::Of(gpu));
  return choice;
}

}  // namespace

base::Result<WantedText> WantedText::Parse(std::string text) {
  WantedText wanted;
  wanted.text = std::move(text);
  if (wanted.text == "off" || wanted.text == "none") {
    wanted.enabled = wanted.text == "none";
    return wanted;
  }
  config::Problems problems(wanted.text, kWantOption);
  int column = 1;
  for (const std::string_view piece : base::Split(wanted.text, ',')) {
    ReadEntry(piece, column, problems, wanted.entries);
    column += static_cast<int>(base::CountCharacters(piece)) + 1;
  }
  TRY_VOID(problems.ToResult());
  return wanted;
}

base::Result<model::GpuGoal> ResolveWanted(const WantedText& wanted, const model::Gpu& gpu) {
  model::GpuGoal goal;
  goal.mig_enabled = wanted.enabled;
  const model::MigGeometry geometry = model::MigGeometry::From(*gpu.mig);
  config::Problems problems(wanted.text, kWantOption);
  for (const WantedText::Entry& entry : wanted.entries) {
    const auto device = [&]() -> base::Result<model::WantedDevice> {
      TRY(request, model::ProfileRequest::Parse(entry.profile));
      return model::Resolve(geometry, request);
    }();
    if (!device.ok()) {
      problems.Add(PlaceOf(entry.column, entry.profile),
                   fmt::format("{}: {}", gpu.name, device.error().message()),
                   device.error().hint());
    } else if (entry.count > 0) {
      model::AddDevices(goal.devices, *device, entry.count);
    }
  }
  TRY_VOID(problems.ToResult());
  return goal;
}

base::Result<config::MigConfigFile> LoadMigConfig(const std::string& path) {
  TRY_VOID(service::mig::CheckSelectable(path));
  if (path != "-") return config::MigConfigFile::Load(path);
  TRY(text, base::ReadFile("/dev/stdin"), "standard input");
  return config::MigConfigFile::Parse(std::move(text), "standard input");
}

service::mig::BootSelection MigRequest::Selection() const {
  if (config_ == nullptr || !gpus_.empty()) return {};
  return {path_, "", config_->name};
}

base::Result<MigRequest> MigRequest::Read(const base::Invocation& invocation) {
  MigRequest request;
  request.gpus_ = invocation.GetAll("gpu");
  std::optional<std::string> file = invocation.Get("config-file");
  const std::optional<std::string> want = invocation.Get("want");
  // A flag beats a variable, of another option too.
  if (want && invocation.FromEnvironment("config-file")) file.reset();
  if (file.has_value() == want.has_value()) {
    return base::Error(base::ErrorCode::kInvalid,
                       file ? "--config-file and --want exclude each other"
                            : "nothing says what the GPUs shall be")
        .WithHint("-f FILE with -c NAME takes a configuration, --want \"1g.5gb:7\" is one itself");
  }
  if (want) {
    TRY(wanted, WantedText::Parse(*want));
    request.wanted_ = std::move(wanted);
    return request;
  }
  TRY(loaded, LoadMigConfig(*file));
  request.path_ = *file;
  request.file_ = std::make_shared<const config::MigConfigFile>(std::move(loaded));
  TRY(config, request.file_->Select(invocation.Get("selected-config").value_or("")));
  request.config_ = config;
  return request;
}

base::Result<NodeGoal> MigRequest::ResolveWords(const model::Inventory& node) const {
  NodeGoal goal;
  TRY(chosen, Chosen(node, gpus_));
  for (const model::Gpu& gpu : node.gpus) {
    if (!chosen.Has(gpu)) continue;
    const model::GpuIdentity identity = model::GpuIdentity::Of(gpu);
    if (gpu.mig_error && (gpu.mig || gpu.faults.empty())) {
      TRY_VOID(service::mig::CheckRead(gpu));
    }
    if (!gpu.mig) {
      // Whoever names a GPU must hear that it cannot; the others of the node are passed over.
      if (!gpus_.empty()) goal.push_back({identity, {wanted_->enabled, {}}});
      continue;
    }
    if (wanted_->enabled && !wanted_->entries.empty() && !model::TellsInstances(*gpu.mig)) {
      goal.push_back({identity, {true, {}}});
      goal.back().instances_later = true;
      continue;
    }
    TRY(target, ResolveWanted(*wanted_, gpu));
    goal.push_back({identity, std::move(target)});
  }
  return goal;
}

base::Result<NodeGoal> MigRequest::ResolveModes(const model::Inventory& node) const {
  TRY(chosen, Chosen(node, gpus_));
  NodeGoal goal;
  if (!wanted_) {
    TRY(modes, service::mig::ResolveModes(*file_, *config_, node));
    goal = std::move(modes);
  }
  for (const model::Gpu& gpu : node.gpus) {
    if (!wanted_) break;
    if (!gpu.mig && gpu.faults.empty() && gpus_.empty()) continue;  // without MIG, and not named
    goal.push_back({model::GpuIdentity::Of(gpu), {wanted_->enabled, {}}});
  }
  std::erase_if(goal, [&chosen = chosen](const service::mig::GpuTarget& target) {
    return !chosen.Has(target.gpu);
  });
  TRY_VOID(CheckMeant(node, goal));
  return goal;
}

bool MigRequest::WantsMig() const {
  if (wanted_) return wanted_->enabled;
  return std::any_of(config_->specs.begin(), config_->specs.end(),
                     [](const config::MigSpec& spec) { return spec.mig_enabled; });
}

bool MigRequest::Means(const model::Gpu& gpu) const {
  if (wanted_) return true;
  return std::any_of(config_->specs.begin(), config_->specs.end(),
                     [&](const config::MigSpec& spec) { return spec.Selects(gpu); });
}

base::Result<void> MigRequest::CheckMeant(const model::Inventory& node,
                                          const NodeGoal& goal) const {
  if (!goal.empty()) return {};
  TRY(chosen, Chosen(node, gpus_));
  bool any = false;
  const model::Gpu* unread = nullptr;
  for (const model::Gpu& gpu : node.gpus) {
    if (!chosen.Has(gpu) || !Means(gpu)) continue;
    any = true;
    if (unread == nullptr && !gpu.faults.empty()) unread = &gpu;
  }
  const std::string what = wanted_ ? std::string(kWantOption)
                                   : fmt::format("configuration {}", base::Quoted(config_->name));
  if (unread != nullptr) {
    return base::MakeError(base::ErrorCode::kUnavailable, "no GPU that {} is for can be read", what)
        .WithHint(
            fmt::format("{}: {}", service::mig::NameOf(*unread), unread->faults.front().text));
  }
  // What cannot do MIG is as a configuration says that turns it off.
  if (any && !WantsMig()) return {};
  return base::MakeError(base::ErrorCode::kInvalid, "{} is for no GPU {}{}", what,
                         gpus_.empty() ? "of this machine" : "that --gpu names",
                         any ? " that can do MIG" : "")
      .WithHint("`partita mig show` lists the GPUs of this machine");
}

base::Result<NodeGoal> MigRequest::Resolve(const model::Inventory& node) const {
  TRY(goal, wanted_ ? ResolveWords(node) : ResolveFile(node));
  TRY_VOID(CheckMeant(node, goal));
  return goal;
}

void MigRequest::WarnOfLeftOut(const model::Inventory& node, const NodeGoal& goal) const {
  const base::Result<Choice> chosen = Chosen(node, gpus_);
  if (!chosen.ok()) return;
  for (const model::Gpu& gpu : node.gpus) {
    const bool meant =
        std::any_of(goal.begin(), goal.end(),
                    [&](const service::mig::GpuTarget& target) { return target.gpu.Is(gpu); });
    if (meant || !chosen->Has(gpu) || gpu.mig || gpu.faults.empty()) continue;
    const std::string text = fmt::format("partita: warning: {} is left out: {}\n",
                                         service::mig::NameOf(gpu), gpu.faults.front().text);
    std::fputs(text.c_str(), stderr);
  }
}

base::Result<NodeGoal> MigRequest::ResolveFile(const model::Inventory& node) const {
  // A product has no numbers, and who chooses GPUs knows that others are left out.
  if (node.driver && gpus_.empty()) {
    TRY_VOID(service::mig::CheckDevices(*file_, *config_, node));
  }
  TRY(goal, service::mig::ResolveConfig(*file_, *config_, node));
  TRY(chosen, Chosen(node, gpus_));
  std::erase_if(goal, [&chosen = chosen](const service::mig::GpuTarget& target) {
    return !chosen.Has(target.gpu);
  });
  return goal;
}

}  // namespace partita::cli
