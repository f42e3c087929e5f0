#include "service/explain/advice.h"

#include <algorithm>
#include <map>
#include <optional>
#include <vector>

#include <fmt/format.h>

#include "base/text.h"
#include "config/resource_name.h"
#include "service/explain/mig_advice.h"

namespace partita::service::explain {
namespace {

using config::MigStrategy;
using config::ResourceRequest;
using device_plugin::ReportedDevice;
using device_plugin::ReportedResource;
using device_plugin::Standing;

constexpr std::string_view kShared = ".shared";
constexpr std::string_view kMigPrefix = "nvidia.com/mig-";

std::vector<std::string> OfferedNames(const NodeView& node) {
  std::vector<std::string> names;
  for (const ReportedResource& resource : node.plugin.resources)
    if (!resource.devices.empty()) names.push_back(resource.name);
  return names;
}

const ReportedResource* FindOffered(const NodeView& node, std::string_view name) {
  for (const ReportedResource& resource : node.plugin.resources)
    if (resource.name == name && !resource.devices.empty()) return &resource;
  return nullptr;
}

std::string NotOffered(std::string_view name) {
  return fmt::format("{} is not offered on this node", name);
}

// The name that shares of a resource have, where it is another.
std::optional<std::string> RenamedTo(const NodeView& node, std::string_view name) {
  for (const auto* section : {&node.config.mps, &node.config.time_slicing}) {
    if (!*section) continue;
    for (const config::SharedResource& shared : (*section)->resources)
      if (shared.name == name && shared.rename && FindOffered(node, *shared.rename) != nullptr)
        return shared.rename;
  }
  return std::nullopt;
}

// What is asked for in sizes only, or is a size that no device has.
std::optional<Advice> AboutSizes(const NodeView& node, const std::string& name) {
  if (!node.config.mps) return std::nullopt;
  std::vector<std::string> sizes;
  bool known = false;
  for (const config::SharedResource& shared : node.config.mps->resources) {
    for (const config::ShareSize& size : shared.shares) {
      const std::string called = shared.NameOf(size);
      known = known || called == name;
      if (shared.name == name && FindOffered(node, called) != nullptr) sizes.push_back(called);
    }
  }
  if (known) {
    const std::vector<std::string>& problems = node.plugin.problems;
    return Advice{fmt::format("{}: no device has shares of that size", NotOffered(name)),
                  problems.empty() ? "see `partita status`" : problems.front()};
  }
  if (sizes.empty()) return std::nullopt;
  std::sort(sizes.begin(), sizes.end());
  sizes.erase(std::unique(sizes.begin(), sizes.end()), sizes.end());
  return Advice{fmt::format("{} is shared on this node, in sizes", name),
                fmt::format("ask for {}", base::JoinWithOr(sizes))};
}

// nvidia.com/gpu.shared and its like.
std::optional<Advice> AboutShares(const NodeView& node, const std::string& name) {
  if (!name.ends_with(kShared)) return std::nullopt;
  const std::string whole = name.substr(0, name.size() - kShared.size());
  const ReportedResource* resource = FindOffered(node, whole);
  if (resource == nullptr) {
    ResourceRequest request;
    request.name = whole;
    request.count = 1;
    Advice advice = WhyNotOffered(node, request);
    return Advice{NotOffered(name) + ", nor is what it would be a share of: " + advice.text,
                  advice.change.empty() ? "" : advice.change + "; then share it"};
  }
  if (resource->shared)
    return Advice{
        fmt::format("shares are called {} on this node", whole),
        fmt::format("ask for {}, or set sharing.timeSlicing.renameByDefault to true", whole)};
  return Advice{
      fmt::format("{}: {} is not shared", NotOffered(name), whole),
      fmt::format("ask for {0}, or name {0} with its replicas under sharing.timeSlicing, with "
                  "renameByDefault: true",
                  whole)};
}

std::optional<Advice> AboutMig(const NodeView& node, const ResourceRequest& request) {
  if (!request.name.starts_with(kMigPrefix)) return std::nullopt;
  const auto profile =
      model::ProfileName::ParseLabel(std::string_view(request.name).substr(kMigPrefix.size()));
  if (!profile.ok()) return std::nullopt;
  const bool there = HasDevice(node, *profile);
  const std::string make = there ? "" : HowToMake(node, *profile, request.count);
  const auto text = [&](std::string_view strategy) {
    return fmt::format("{}: migStrategy is {}", NotOffered(request.name), strategy);
  };
  switch (node.config.mig_strategy) {
    case MigStrategy::kNone:
      return Advice{text("none"), "set flags.migStrategy to mixed" +
                                      (make.empty() ? "" : ", and make one: " + make)};
    case MigStrategy::kSingle:
      if (there)
        return Advice{text("single") + ", and every MIG device is nvidia.com/gpu",
                      "ask for nvidia.com/gpu, or set flags.migStrategy to mixed"};
      return Advice{text("single"), "set flags.migStrategy to mixed, and make one: " + make};
    case MigStrategy::kMixed: break;
  }
  if (there) return Advice{NotOffered(request.name), "see `partita config show` for offer.rules"};
  return Advice{fmt::format("{}: no GPU has such a device", NotOffered(request.name)), make};
}

// nvidia.com/gpu where every GPU is divided.
std::optional<Advice> AboutWholeGpus(const NodeView& node, const std::string& name) {
  const auto& gpus = node.inventory.gpus;
  if (name != "nvidia.com/gpu" || gpus.empty()) return std::nullopt;
  const bool divided = std::all_of(
      gpus.begin(), gpus.end(), [](const model::Gpu& gpu) { return gpu.mig && gpu.mig->enabled; });
  if (!divided) return std::nullopt;
  const std::string names = base::Join(OfferedNames(node), ", ");
  return Advice{
      NotOffered(name) + ": every GPU is divided by MIG",
      (names.empty() ? "" : fmt::format("ask for one of {}, or ", names)) + HowToMakeWhole(node)};
}

// "pod default/train (main): 4, pod default/serve (main)".
std::string Counted(const std::map<std::string, std::size_t>& counts) {
  std::vector<std::string> parts;
  parts.reserve(counts.size());
  for (const auto& [what, count] : counts)
    parts.push_back(count == 1 ? what : fmt::format("{}: {}", what, count));
  constexpr std::size_t kMostNamed = 5;
  if (parts.size() <= kMostNamed) return base::Join(parts, ", ");
  const std::size_t more = parts.size() - kMostNamed;
  parts.resize(kMostNamed);
  return fmt::format("{} and {} more", base::Join(parts, ", "), more);
}

}  // namespace

Advice WhyNotOffered(const NodeView& node, const ResourceRequest& request) {
  const bool known =
      std::any_of(node.plugin.resources.begin(), node.plugin.resources.end(),
                  [&](const ReportedResource& resource) { return resource.name == request.name; });
  if (known && !node.plugin.problems.empty())
    return {fmt::format("no device of {} can be given away", request.name),
            node.plugin.problems.front()};
  // Whoever offers nothing has no settings that could be otherwise.
  if (node.plugin.config.empty() && !node.plugin.problems.empty())
    return {NotOffered(request.name), node.plugin.problems.front()};
  if (auto advice = AboutSizes(node, request.name)) return *std::move(advice);
  if (const auto renamed = RenamedTo(node, request.name))
    return {fmt::format("{} is shared on this node, and its shares are called {}", request.name,
                        *renamed),
            fmt::format("ask for {}{}", *renamed,
                        FindOffered(node, *renamed)->devices.front().mps
                            ? ""
                            : "; a share has no memory of its own")};
  if (auto advice = AboutShares(node, request.name)) return *std::move(advice);
  if (auto advice = AboutMig(node, request)) return *std::move(advice);
  if (auto advice = AboutWholeGpus(node, request.name)) return *std::move(advice);
  const std::vector<std::string> names = OfferedNames(node);
  if (names.empty()) {
    return {NotOffered(request.name) + ", nor is anything else",
            node.plugin.problems.empty() ? "see `partita status`" : node.plugin.problems.front()};
  }
  const std::string meant = base::DidYouMean(request.name, names);
  return {NotOffered(request.name), meant.empty() ? "offered are " + base::Join(names, ", ")
                                                  : fmt::format("did you mean {}?", meant)};
}

Advice WhyNotEnough(const NodeView& node,
                    const ReportedResource& resource,
                    const ResourceRequest& request,
                    std::size_t free,
                    std::size_t above) {
  const std::size_t all = resource.devices.size();
  const std::string asked = fmt::format("{} of {} {} asked for", request.count, request.name,
                                        request.count == 1 ? "is" : "are");
  if (request.count > all) {
    std::string change = fmt::format("ask for {} at most, or choose another node", all);
    if (request.name.starts_with(kMigPrefix)) {
      const auto profile =
          model::ProfileName::ParseLabel(std::string_view(request.name).substr(kMigPrefix.size()));
      if (profile.ok()) change += "; " + HowToMake(node, *profile, request.count - all);
    }
    return {fmt::format("{}, and this node has {}", asked, all), change};
  }
  std::map<std::string, std::size_t> holders, faults;
  for (const ReportedDevice& device : resource.devices) {
    if (device.standing == Standing::kHeld) ++holders[device.why];
    if (device.standing == Standing::kUnhealthy) ++faults[device.why];
  }
  std::vector<std::string> parts;
  if (!holders.empty()) parts.push_back("held by " + Counted(holders));
  if (above > 0) parts.push_back(fmt::format("{} by pods and containers above", above));
  if (!faults.empty()) parts.push_back("unhealthy: " + Counted(faults));
  std::string change = "choose another node";
  if (!holders.empty()) change = "wait until a pod ends, or choose another node";
  if (!faults.empty()) change += "; see `partita health`";
  return {fmt::format("{}, and {} of {} {} free ({})", asked, free, all, free == 1 ? "is" : "are",
                      base::Join(parts, "; ")),
          change};
}

}  // namespace partita::service::explain
