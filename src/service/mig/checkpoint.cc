#include "service/mig/checkpoint.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <functional>
#include <map>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "base/text.h"
#include "config/binders.h"
#include "config/document.h"
#include "config/problems.h"
#include "model/mig/plan.h"
#include "service/mig/node_plan.h"

namespace partita::service::mig {

namespace {

using base::Value;
using config::Node;

// Compute slices by NVML's constant of a compute instance profile; 7 and 8 are variants of 1 and 7.
// For files of the reference, which name no slices. What a newer driver adds has them beside it.
constexpr std::array<std::uint32_t, 9> kComputeSlices = {1, 2, 3, 4, 7, 8, 6, 1, 7};

// The reference writes null where a list is empty.
Value OrNull(Value list) { return list.items().empty() ? Value() : std::move(list); }

std::uint32_t ConstantOf(const model::Mig& mig, model::ProfileId id) {
  for (const model::GpuInstanceProfile& profile : mig.profiles) {
    if (profile.id == id) return profile.constant.value();
  }
  return id.value();
}

Value ComputeValue(std::uint32_t profile, std::uint32_t slices) {
  Value value = Value::Map().Set("ProfileID", profile).Set("EngProfileID", 0);
  const bool known = profile < kComputeSlices.size() && kComputeSlices.at(profile) == slices;
  if (!known) value.Set("Slices", slices);
  return value;
}

Value InstanceValue(const model::Mig& mig, const model::GpuInstance& instance) {
  Value computes = Value::List();
  for (const model::ComputeInstance& compute : instance.compute_instances) {
    computes.Add(ComputeValue(compute.profile, compute.slice_count));
  }
  const model::Placement& placement = instance.placement;
  return Value::Map()
      .Set("ProfileID", ConstantOf(mig, instance.profile))
      .Set("Placement", Value::Map().Set("Start", placement.start).Set("Size", placement.size))
      .Set("ComputeInstances", OrNull(std::move(computes)));
}

}  // namespace

base::Result<Value> CheckpointDocument(const model::Inventory& node) {
  TRY_VOID(CheckRead(node));
  Value devices = Value::List();
  for (const model::Gpu& gpu : node.gpus) {
    if (!gpu.mig || !gpu.uuid) continue;
    // In the reference's order, profile by profile: it compares lists by position.
    std::vector<model::GpuInstance> ordered = gpu.mig->instances;
    std::stable_sort(ordered.begin(), ordered.end(), [&](const auto& a, const auto& b) {
      return ConstantOf(*gpu.mig, a.profile) < ConstantOf(*gpu.mig, b.profile);
    });
    Value instances = Value::List();
    for (const model::GpuInstance& instance : ordered) {
      instances.Add(InstanceValue(*gpu.mig, instance));
    }
    devices.Add(Value::Map()
                    .Set("UUID", gpu.uuid->value())
                    .Set("MigMode", gpu.mig->enabled ? 1 : 0)
                    .Set("GpuInstances", OrNull(std::move(instances))));
  }
  return Value::Map()
      .Set("Version", "v1")
      .Set("MigState", Value::Map().Set("Devices", OrNull(std::move(devices))));
}

std::uint32_t ComputeConstant(std::uint32_t slices) {
  const auto* found = std::find(kComputeSlices.begin(), kComputeSlices.end(), slices);
  // No driver offers another width; 0, the narrowest, is at least never too wide.
  return found == kComputeSlices.end() ? 0
                                       : static_cast<std::uint32_t>(found - kComputeSlices.begin());
}

// From the nodes of a file.
class CheckpointReader {
 public:
  explicit CheckpointReader(config::Problems& problems) : problems_(problems) {}

  void Read(const Node& root, Checkpoint& checkpoint) {
    if (!config::ExpectMap(root, problems_, "a checkpoint")) return;
    if (const Node* version = config::Require(root, "Version", problems_);
        version != nullptr && version->text != "v1") {
      problems_.Add(*version, fmt::format("unknown version {}", base::Quoted(version->text)),
                    "only v1 exists");
    }
    const Node* state = config::Require(root, "MigState", problems_);
    if (state == nullptr || !config::ExpectMap(*state, problems_, "MigState")) return;
    ForEach(*state, "Devices", [&](const Node& device) { ReadDevice(device, checkpoint); });
  }

 private:
  // A list, or null where it is empty.
  void ForEach(const Node& map, std::string_view key, const std::function<void(const Node&)>& f) {
    const Node* list = config::Require(map, key, problems_);
    if (list == nullptr || list->IsNull() || !config::ExpectList(*list, problems_, key)) return;
    for (const Node& item : list->items) {
      if (config::ExpectMap(item, problems_, fmt::format("an item of {}", key))) f(item);
    }
  }

  std::uint32_t Number(const Node& map, std::string_view key, std::uint64_t most) {
    const Node* node = config::Require(map, key, problems_);
    if (node == nullptr) return 0;
    return static_cast<std::uint32_t>(
        config::ReadUnsigned(*node, problems_, {0, most}).value_or(0));
  }

  Checkpoint::Compute ReadCompute(const Node& node) {
    if (node.Find("Slices") != nullptr) {
      return {Number(node, "ProfileID", 0xFFFF), Number(node, "Slices", 63)};
    }
    const std::uint32_t id = Number(node, "ProfileID", kComputeSlices.size() - 1);
    return {id, kComputeSlices.at(id)};
  }

  void ReadDevice(const Node& node, Checkpoint& checkpoint) {
    Checkpoint::Device device;
    if (const Node* uuid = config::Require(node, "UUID", problems_)) {
      device.uuid = config::ReadString(*uuid, problems_).value_or("");
      RefuseTwice(device.uuid, *uuid);
    }
    device.enabled = Number(node, "MigMode", 1) == 1;
    ForEach(node, "GpuInstances", [&](const Node& item) {
      Checkpoint::Instance instance;
      instance.profile = Number(item, "ProfileID", 0xFFFF);
      if (const Node* placement = config::Require(item, "Placement", problems_)) {
        instance.start = Number(*placement, "Start", 63);
      }
      ForEach(item, "ComputeInstances",
              [&](const Node& compute) { instance.compute.push_back(ReadCompute(compute)); });
      std::stable_sort(instance.compute.begin(), instance.compute.end(),
                       [](const auto& a, const auto& b) { return a.slices > b.slices; });
      if (!device.enabled) {
        problems_.Add(item, "a GPU instance under MIG off",
                      "set \"MigMode\" to 1, or take out the instances");
      }
      device.instances.push_back(std::move(instance));
    });
    checkpoint.devices_.push_back(std::move(device));
  }

  // The second entry would undo what the first asks for.
  void RefuseTwice(const std::string& uuid, const Node& node) {
    const auto [first, is_new] = lines_.try_emplace(uuid, node.line);
    if (is_new || uuid.empty()) return;
    problems_.Add(
        node, fmt::format("{} is in \"Devices\" twice", base::Quoted(uuid)),
        fmt::format("the other is in line {}: take out the one that does not hold", first->second));
  }

  config::Problems& problems_;
  std::map<std::string, int> lines_;  // of each UUID
};

base::Result<Checkpoint> Checkpoint::Parse(std::string text, std::string file_name) {
  TRY(document, config::Document::Parse(std::move(text), std::move(file_name)));
  config::Problems problems(document);
  Checkpoint checkpoint;
  CheckpointReader(problems).Read(document.root(), checkpoint);
  TRY_VOID(problems.ToResult());
  return checkpoint;
}

base::Result<GpuTarget> Checkpoint::ResolveDevice(const Device& device, const model::Gpu& gpu) {
  TRY_VOID(CheckRead(gpu));
  GpuTarget target{
      model::GpuIdentity::Of(gpu), {device.enabled, {}}, std::vector<model::InstanceGoal>()};
  const model::MigGeometry geometry = model::MigGeometry::From(*gpu.mig);
  for (const Instance& instance : device.instances) {
    const auto profile = std::find_if(
        geometry.profiles.begin(), geometry.profiles.end(),
        [&](const model::GpuInstanceProfile& p) { return p.constant.value() == instance.profile; });
    const model::PlacedInstance place{static_cast<std::size_t>(profile - geometry.profiles.begin()),
                                      instance.start};
    if (profile == geometry.profiles.end() || model::FindPlacement(geometry, place) == nullptr) {
      return base::MakeError(base::ErrorCode::kInvalid,
                             "{} offers no instance of NVML profile {} at slice {}", device.uuid,
                             instance.profile, instance.start)
          .WithHint(
              "the checkpoint is of another kind of GPU, or of another driver: "
              "`partita mig profiles` lists what this one offers");
    }
    model::InstanceGoal goal{place, {}};
    for (const Compute& compute : instance.compute) {
      goal.compute.push_back(compute.slices);
      model::AddDevices(target.goal.devices, {place.profile, compute.slices}, 1);
    }
    target.exact->push_back(std::move(goal));
  }
  std::sort(target.exact->begin(), target.exact->end(),
            [](const auto& a, const auto& b) { return a.place.start < b.place.start; });
  return target;
}

std::optional<std::size_t> Checkpoint::Find(const Device& device, const model::Inventory& node) {
  for (std::size_t i = 0; i < node.gpus.size(); ++i) {
    const model::Gpu& gpu = node.gpus[i];
    if (gpu.uuid && gpu.uuid->value() == device.uuid) return i;
  }
  return std::nullopt;
}

std::optional<std::string> Checkpoint::WhyGone(const Device& device, const model::Inventory& node) {
  const std::optional<std::size_t> found = Find(device, node);
  if (!found) return device.uuid;
  const model::Gpu& gpu = node.gpus[*found];
  if (gpu.mig) return std::nullopt;
  if (!gpu.mig_error) return device.uuid;
  if (gpu.faults.empty()) return std::nullopt;
  return fmt::format("{} ({})", device.uuid, gpu.faults.front().text);
}

bool Checkpoint::Has(std::string_view uuid) const {
  return std::any_of(devices_.begin(), devices_.end(),
                     [&](const Device& device) { return device.uuid == uuid; });
}

bool Checkpoint::Lists(const model::Gpu& gpu, const model::GpuInstance& instance) const {
  if (!gpu.uuid || !gpu.mig) return false;
  const auto is_it = [&](const Instance& each) {
    return each.profile == ConstantOf(*gpu.mig, instance.profile) &&
           each.start == instance.placement.start;
  };
  return std::any_of(devices_.begin(), devices_.end(), [&](const Device& device) {
    return device.uuid == gpu.uuid->value() &&
           std::any_of(device.instances.begin(), device.instances.end(), is_it);
  });
}

std::vector<std::string> Checkpoint::Gone(const model::Inventory& node) const {
  std::vector<std::string> gone;
  for (const Device& device : devices_) {
    if (std::optional<std::string> why = WhyGone(device, node)) gone.push_back(*std::move(why));
  }
  return gone;
}

base::Result<NodeGoal> Checkpoint::ResolvePresent(const model::Inventory& node) const {
  std::map<std::size_t, GpuTarget> targets;  // in the order of this look
  for (const Device& device : devices_) {
    if (WhyGone(device, node)) continue;
    const std::size_t position = *Find(device, node);
    TRY(target, ResolveDevice(device, node.gpus[position]));
    targets.insert_or_assign(position, std::move(target));
  }
  NodeGoal goal;
  for (auto& [position, target] : targets) goal.push_back(std::move(target));
  return goal;
}

base::Result<NodeGoal> Checkpoint::Resolve(const model::Inventory& node) const {
  TRY(goal, ResolvePresent(node));
  if (const std::vector<std::string> gone = Gone(node); !gone.empty()) {
    return base::MakeError(base::ErrorCode::kNotFound,
                           "GPUs of the checkpoint are not on this machine: {}",
                           base::Join(gone, ", "))
        .WithHint("restore it where it was taken, or take their entries out of \"Devices\"");
  }
  return goal;
}

void Checkpoint::Update(const Checkpoint& newer, const std::vector<std::string>& uuids) {
  for (const Device& device : newer.devices_) {
    if (std::find(uuids.begin(), uuids.end(), device.uuid) == uuids.end()) continue;
    std::erase_if(devices_, [&](const Device& old) { return old.uuid == device.uuid; });
    devices_.push_back(device);
  }
}

Value Checkpoint::ToDocument() const {
  Value devices = Value::List();
  for (const Device& device : devices_) {
    Value instances = Value::List();
    for (const Instance& instance : device.instances) {
      Value computes = Value::List();
      for (const Compute& compute : instance.compute) {
        computes.Add(ComputeValue(compute.profile, compute.slices));
      }
      instances.Add(Value::Map()
                        .Set("ProfileID", instance.profile)
                        .Set("Placement", Value::Map().Set("Start", instance.start))
                        .Set("ComputeInstances", OrNull(std::move(computes))));
    }
    devices.Add(Value::Map()
                    .Set("UUID", device.uuid)
                    .Set("MigMode", device.enabled ? 1 : 0)
                    .Set("GpuInstances", OrNull(std::move(instances))));
  }
  return Value::Map()
      .Set("Version", "v1")
      .Set("MigState", Value::Map().Set("Devices", OrNull(std::move(devices))));
}

}  // namespace partita::service::mig
