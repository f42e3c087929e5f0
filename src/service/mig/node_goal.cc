#include "service/mig/node_goal.h"

#include <algorithm>
#include <functional>
#include <map>
#include <utility>
#include <variant>

#include <fmt/format.h>

#include "config/problems.h"
#include "model/mig/wanted.h"
#include "model/unread.h"
#include "service/mig/node_plan.h"

namespace partita::service::mig {
namespace {

using config::MigDeviceCount;
using config::MigSpec;

// What the names of one entry mean on one kind of GPU; nothing when some mean nothing.
std::optional<model::DeviceCounts> ResolveDevices(const MigSpec& spec,
                                                  const model::Gpu& gpu,
                                                  const model::MigGeometry& geometry,
                                                  config::Problems& problems) {
  model::DeviceCounts devices;
  bool complete = true;
  for (const MigDeviceCount& entry : spec.mig_devices) {
    const auto resolved = [&]() -> base::Result<model::WantedDevice> {
      TRY(request, model::ProfileRequest::Parse(entry.profile));
      return model::Resolve(geometry, request);
    }();
    if (!resolved.ok()) {
      problems.Add(entry.place, fmt::format("{}: {}", gpu.name, resolved.error().message()),
                   resolved.error().hint());
      complete = false;
    } else if (entry.count > 0) {
      model::AddDevices(devices, *resolved, entry.count);
    }
  }
  if (!complete) return std::nullopt;
  return devices;
}

// What names a GPU only where a driver tells.
bool NeedsDriver(const model::GpuSelector& selector) {
  return std::holds_alternative<model::GpuUuid>(selector.choice()) ||
         std::holds_alternative<model::ProductName>(selector.choice());
}

enum class Scope { kModes, kEverything };

// Turns the entries of one configuration into targets.
class Resolver {
 public:
  Resolver(const model::Inventory& inventory, const config::Document& document, Scope scope)
      : inventory_(inventory), problems_(document), scope_(scope) {}

  void Add(const MigSpec& spec) {
    kinds_.clear();
    if (scope_ == Scope::kModes) CheckSelectors(spec);
    for (std::size_t i = 0; i < inventory_.gpus.size(); ++i) {
      const model::Gpu& gpu = inventory_.gpus[i];
      if (!spec.Selects(gpu)) continue;
      if (gpu.mig_error && (gpu.mig || gpu.faults.empty()))
        NoteUnread(gpu);
      else if (gpu.mig || (scope_ == Scope::kModes && !gpu.faults.empty()))
        AddTarget(spec, i);
      else if (!spec.all_devices)
        AddWithoutMig(spec, gpu);
    }
  }

  base::Result<NodeGoal> Take() {
    if (unread_) return *std::move(unread_);
    TRY_VOID(problems_.ToResult());
    NodeGoal goal;
    for (auto& [position, entry] : targets_) goal.push_back(std::move(entry.target));
    return goal;
  }

 private:
  void CheckSelectors(const MigSpec& spec) {
    for (const model::GpuSelector& selector : spec.devices) {
      if (!NeedsDriver(selector)) continue;
      problems_.Add(spec.place,
                    fmt::format("{} cannot be told without the driver", selector.ToString()),
                    "while no driver is loaded, choose by index, PCI address or device-filter");
    }
  }

  // Whether it can do MIG, or what it can do, is not known, and no mistake of the file.
  void NoteUnread(const model::Gpu& gpu) {
    if (base::Result<void> read = CheckRead(gpu); !read.ok() && !unread_)
      unread_ = std::move(read).error();
  }

  // One that was chosen by name and has no MIG, or cannot be asked whether it has.
  void AddWithoutMig(const MigSpec& spec, const model::Gpu& gpu) {
    if (!gpu.faults.empty()) {
      problems_.Add(spec.place, fmt::format("{} cannot be configured", NameOf(gpu)),
                    gpu.faults.front().text);
    } else if (spec.mig_enabled) {
      problems_.Add(spec.place, fmt::format("{} ({}) cannot do MIG", NameOf(gpu), gpu.name),
                    "leave it out of \"devices\"");
    }
  }

  void AddTarget(const MigSpec& spec, std::size_t i) {
    const model::Gpu& gpu = inventory_.gpus[i];
    const std::optional<model::DeviceCounts>& devices = DevicesFor(spec, gpu);
    if (!devices) return;
    GpuTarget target{model::GpuIdentity::Of(gpu), {spec.mig_enabled, *devices}};
    target.instances_later = ComeLater(spec, gpu);
    const auto [first, is_new] = targets_.try_emplace(i, Entry{target, &spec});
    if (is_new || first->second.target == target) return;
    problems_.Add(spec.place,
                  fmt::format("{} is in two entries that want different things of it", NameOf(gpu)),
                  fmt::format("the other is in line {}", first->second.source->place.line));
  }

  [[nodiscard]] bool ComeLater(const MigSpec& spec, const model::Gpu& gpu) const {
    return scope_ == Scope::kEverything && spec.mig_enabled && !spec.mig_devices.empty() &&
           gpu.mig && !model::TellsInstances(*gpu.mig);
  }

  // Each kind of GPU is resolved, and its problems reported, once for each entry.
  const std::optional<model::DeviceCounts>& DevicesFor(const MigSpec& spec, const model::Gpu& gpu) {
    static const std::optional<model::DeviceCounts> none = model::DeviceCounts();
    if (scope_ == Scope::kModes || ComeLater(spec, gpu)) return none;
    model::MigGeometry geometry = model::MigGeometry::From(*gpu.mig);
    for (const Kind& kind : kinds_)
      if (kind.geometry == geometry && kind.name == gpu.name) return kind.devices;
    auto devices = ResolveDevices(spec, gpu, geometry, problems_);
    kinds_.push_back({gpu.name, std::move(geometry), std::move(devices)});
    return kinds_.back().devices;
  }

  struct Kind {
    std::string name;
    model::MigGeometry geometry;
    std::optional<model::DeviceCounts> devices;
  };
  struct Entry {
    GpuTarget target;
    const MigSpec* source;
  };
  const model::Inventory& inventory_;
  config::Problems problems_;
  Scope scope_;
  std::map<std::size_t, Entry> targets_;  // in the order of this look
  std::vector<Kind> kinds_;               // of the entry in hand
  std::optional<base::Error> unread_;     // of the first GPU that was not wholly read
};

base::Result<NodeGoal> ResolveIn(Scope scope,
                                 const config::MigConfigFile& file,
                                 const config::MigConfig& config,
                                 const model::Inventory& inventory) {
  Resolver resolver(inventory, file.document(), scope);
  for (const MigSpec& spec : config.specs) resolver.Add(spec);
  return resolver.Take();
}

}  // namespace

base::Result<NodeGoal> ResolveConfig(const config::MigConfigFile& file,
                                     const config::MigConfig& config,
                                     const model::Inventory& inventory) {
  return ResolveIn(Scope::kEverything, file, config, inventory);
}

base::Result<NodeGoal> ResolveModes(const config::MigConfigFile& file,
                                    const config::MigConfig& config,
                                    const model::Inventory& inventory) {
  return ResolveIn(Scope::kModes, file, config, inventory);
}

base::Result<void> CheckDevices(const config::MigConfigFile& file,
                                const config::MigConfig& config,
                                const model::Inventory& inventory) {
  config::Problems problems(file.document());
  for (const MigSpec& spec : config.specs) {
    for (const model::GpuSelector& selector : spec.devices) {
      if (std::holds_alternative<model::ProductName>(selector.choice())) continue;
      const bool here = std::any_of(inventory.gpus.begin(), inventory.gpus.end(),
                                    [&](const model::Gpu& gpu) { return selector.Matches(gpu); });
      if (here) continue;
      problems.Add(spec.place, fmt::format("{} is not on this machine", selector.ToString()),
                   "`partita mig show` lists its GPUs");
    }
  }
  return problems.ToResult();
}

NodeGoal ModeOnly(const model::Inventory& inventory, const NodeGoal& goal) {
  NodeGoal modes;
  for (const GpuTarget& target : goal) {
    const model::Gpu* gpu = model::FindGpu(inventory, target.gpu);
    const model::Mig* mig = gpu != nullptr && gpu->mig ? &*gpu->mig : nullptr;
    const bool wanted = target.goal.mig_enabled;
    if (mig != nullptr && mig->enabled == wanted && mig->pending_enabled == wanted) continue;
    // A GPU whose mode is right and only something else is pending keeps its instances.
    if (mig != nullptr && mig->enabled == wanted) {
      modes.push_back(AsItIs(*gpu));
      modes.back().goal.mig_enabled = wanted;
    } else {
      modes.push_back({target.gpu, {wanted, {}}});
    }
  }
  return modes;
}

GpuTarget AsItIs(const model::Gpu& gpu) {
  GpuTarget target{model::GpuIdentity::Of(gpu), {}};
  if (!gpu.mig) return target;
  const model::MigGeometry geometry = model::MigGeometry::From(*gpu.mig);
  target.goal.mig_enabled = gpu.mig->enabled;
  target.goal.devices = model::PresentDevices(gpu, geometry);
  target.exact.emplace();
  for (const model::LiveInstance& live : model::LiveInstances(gpu, geometry)) {
    model::InstanceGoal goal{live.place, {}};
    for (const model::LiveComputeInstance& compute : live.compute)
      goal.compute.push_back(compute.slices);
    std::sort(goal.compute.begin(), goal.compute.end(), std::greater<>());
    target.exact->push_back(std::move(goal));
  }
  std::sort(target.exact->begin(), target.exact->end(),
            [](const auto& a, const auto& b) { return a.place.start < b.place.start; });
  return target;
}

}  // namespace partita::service::mig
