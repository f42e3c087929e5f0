#include "model/testing/mig_notation.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <optional>

#include <fmt/format.h>

#include "base/text.h"
#include "model/mig/wanted.h"
#include "model/testing/product_geometry.h"

namespace partita::model::testing {
namespace {

[[noreturn]] void FailToRead(std::string_view text) {
  std::fprintf(stderr, "testing: cannot read \"%.*s\"\n", static_cast<int>(text.size()),
               text.data());
  std::abort();
}

std::uint32_t Number(std::string_view text) {
  const auto number = base::ParseUnsigned(text);
  if (!number) FailToRead(text);
  return static_cast<std::uint32_t>(*number);
}

WantedDevice Device(const MigGeometry& geometry, std::string_view name) {
  const auto request = ProfileRequest::Parse(name);
  if (!request.ok()) FailToRead(name);
  const auto device = Resolve(geometry, *request);
  if (!device.ok()) FailToRead(name);
  return *device;
}

// Takes the mark off the end of the text, if it is there.
bool Take(std::string_view& text, char mark) {
  if (!text.ends_with(mark)) return false;
  text.remove_suffix(1);
  return true;
}

std::vector<LiveComputeInstance> ReadCompute(std::string_view inner) {
  std::vector<LiveComputeInstance> compute;
  if (inner.empty()) return compute;
  for (std::string_view piece : base::Split(inner, ',')) {
    const bool in_use = Take(piece, '*');
    compute.push_back(
        {ComputeInstanceId(static_cast<std::uint32_t>(compute.size())), Number(piece), in_use});
  }
  return compute;
}

std::string ComputeText(const MigGeometry& geometry, const InstanceGoal& goal) {
  if (goal.compute == ComputeSizes{geometry.profiles[goal.place.profile].slice_count}) return "";
  return fmt::format("[{}]", fmt::join(goal.compute, ","));
}

std::string ComputeText(const KeptInstance& kept) {
  std::vector<std::string> changes;
  for (const LiveComputeInstance& compute : kept.destroy)
    changes.push_back(fmt::format("-{}{}", compute.slices, compute.in_use ? "*" : ""));
  for (std::uint32_t slices : kept.create) changes.push_back(fmt::format("+{}", slices));
  return changes.empty() ? "" : fmt::format("[{}]", base::Join(changes, " "));
}

}  // namespace

std::vector<LiveInstance> Live(const MigGeometry& geometry, std::string_view text) {
  std::vector<LiveInstance> live;
  for (std::string_view word : base::SplitWords(text)) {
    LiveInstance instance;
    instance.id = GpuInstanceId(static_cast<std::uint32_t>(live.size() + 1));
    std::optional<std::string_view> inner;
    if (Take(word, ']')) {
      const std::size_t open = word.find('[');
      inner = word.substr(open + 1);
      word = word.substr(0, open);
    }
    const bool in_use = Take(word, '*');
    instance.pinned = Take(word, '!');
    const std::vector<std::string_view> parts = base::Split(word, '@');
    if (parts.size() != 2) FailToRead(word);
    const WantedDevice device = Device(geometry, parts[0]);
    instance.place = {device.profile, Number(parts[1])};
    instance.compute = inner ? ReadCompute(*inner)
                             : std::vector<LiveComputeInstance>{
                                   {ComputeInstanceId(0), device.compute_slices, in_use}};
    live.push_back(std::move(instance));
  }
  return live;
}

DeviceCounts Wanted(const MigGeometry& geometry, std::string_view text) {
  DeviceCounts wanted;
  if (text.empty()) return wanted;
  for (std::string_view piece : base::Split(text, ',')) {
    const std::vector<std::string_view> words = base::SplitWords(piece);
    const std::uint32_t count = words.size() == 3 ? Number(words[0]) : 1;
    AddDevices(wanted, Device(geometry, words.back()), count);
  }
  return wanted;
}

std::string ToText(const MigGeometry& geometry, const LayoutPlan& plan) {
  std::vector<std::string> words;
  for (const KeptInstance& kept : plan.kept)
    words.push_back(fmt::format("={}{}", ToString(geometry, kept.live.place), ComputeText(kept)));
  for (const LiveInstance& instance : plan.destroyed)
    words.push_back(
        fmt::format("-{}{}", ToString(geometry, instance.place), instance.MustStay() ? "*" : ""));
  for (const InstanceGoal& goal : plan.created)
    words.push_back(
        fmt::format("+{}{}", ToString(geometry, goal.place), ComputeText(geometry, goal)));
  return base::Join(words, " ");
}

std::string ToText(const MigGeometry& geometry, const std::variant<LayoutPlan, NoLayout>& answer) {
  if (const auto* none = std::get_if<NoLayout>(&answer)) return none->text;
  return ToText(geometry, std::get<LayoutPlan>(answer));
}

Gpu GpuWith(std::string_view product, std::string_view instances) {
  Gpu gpu = ProductGpu(product);
  gpu.mig->enabled = gpu.mig->pending_enabled = true;
  const MigGeometry geometry = MigGeometry::From(*gpu.mig);
  for (const LiveInstance& live : Live(geometry, instances)) {
    const GpuInstanceProfile& profile = geometry.profiles[live.place.profile];
    GpuInstance instance;
    instance.id = live.id;
    instance.profile = profile.id;
    instance.profile_name = profile.name;
    instance.placement = *FindPlacement(geometry, live.place);
    for (const LiveComputeInstance& compute : live.compute) {
      ComputeInstance made;
      made.id = compute.id;
      made.slice_count = compute.slices;
      instance.compute_instances.push_back(made);
      if (!compute.in_use) continue;
      Process process;
      process.pid = Pid(static_cast<std::int64_t>(100 + gpu.processes.size()));
      process.name = "python train.py";
      process.gpu_instance = live.id;
      process.compute_instance = compute.id;
      gpu.processes.push_back(process);
    }
    gpu.mig->instances.push_back(std::move(instance));
  }
  return gpu;
}

}  // namespace partita::model::testing
