#include "config/plugin_config_sizes.h"

#include <algorithm>
#include <array>
#include <tuple>

#include <fmt/format.h>

#include "base/text.h"
#include "config/binders.h"
#include "config/manifest/quantity.h"
#include "config/resource_name.h"

namespace partita::config {
namespace {

constexpr std::uint64_t kMebibyte = std::uint64_t{1} << 20U;
constexpr std::uint64_t kGibibyte = std::uint64_t{1} << 30U;
constexpr std::uint32_t kWholeDevice = 100;
constexpr std::string_view kSample = "{name: small, replicas: 4, memory: 8Gi, threads: 10}";
const std::array<std::string, 4> kSizeKeys = {"name", "replicas", "memory", "threads"};
// Ends of names that MIG devices have themselves: nvidia.com/mig-1g.10gb.me.all.
constexpr std::array<std::string_view, 3> kMigAttributes = {"me", "gfx", "all"};

// Why shares may not be called so; empty: they may.
std::string WhyNoSize(const SharedResource& resource, const std::string& name) {
  if (!IsDnsSubdomain(name) || name.find('.') != std::string::npos)
    return "lower-case letters, digits and \"-\", a letter or digit at both ends";
  if (name == "shared") return "\"renameByDefault\" calls equal shares so: choose another";
  const bool mig = resource.SharesName().starts_with("nvidia.com/mig-");
  if (mig && std::find(kMigAttributes.begin(), kMigAttributes.end(), name) != kMigAttributes.end())
    return "MIG devices are called so themselves: choose another";
  return "";
}

void ReadSizeName(const Node& node,
                  Problems& problems,
                  const SharedResource& resource,
                  ShareSize& size) {
  std::optional<std::string> name = ReadString(node, problems);
  if (!name) return;
  size.name = *std::move(name);
  if (const std::string why = WhyNoSize(resource, size.name); !why.empty()) {
    problems.Add(node, fmt::format("{} is no name of a size", base::Quoted(size.name)), why);
    return;
  }
  if (resource.name.empty()) return;  // told
  const base::Result<std::string> whole = FullResourceName(resource.NameOf(size));
  if (!whole.ok()) problems.Add(node, whole.error().message(), whole.error().hint());
}

void ReadSizeMemory(const Node& node, Problems& problems, ShareSize& size) {
  const std::string_view text = node.IsScalar() ? std::string_view(node.text) : "";
  if (text.ends_with('%')) {
    const auto percent = base::ParseUnsigned(text.substr(0, text.size() - 1));
    if (percent && *percent > 0 && *percent <= kWholeDevice) {
      size.memory_percent = static_cast<std::uint32_t>(*percent);
      return;
    }
    problems.Add(node, fmt::format("expected 1% to 100%, not {}", Describe(node)));
    return;
  }
  const std::optional<Quantity> quantity = ParseQuantity(text);
  if (!quantity || !quantity->whole) {
    problems.Add(node,
                 fmt::format("expected an amount of memory or a percentage of the device's, not {}",
                             Describe(node)),
                 "as 8Gi, 8G, 512Mi or 20%");
  } else if (quantity->count < kMebibyte) {
    problems.Add(node, fmt::format("{} bytes are less than 1Mi, the least limit", quantity->count),
                 "write 8Gi for 8 GiB");
  } else {
    size.memory = quantity->count;
  }
}

std::uint32_t ReadSizeNumber(const Node& node, Problems& problems, std::uint64_t max) {
  return static_cast<std::uint32_t>(
      ReadUnsigned(node, problems, {.min = 1, .max = max}).value_or(0));
}

void ReadOneSize(const Node& node,
                 PluginReading& reading,
                 SharedResource& resource,
                 std::vector<const Node*>& names) {
  Problems& problems = reading.errors;
  if (!ExpectMap(node, problems, "a size of shares")) return;
  RejectUnknownKeys(node, kSizeKeys, problems);
  ShareSize size;
  const Node* name = Require(node, "name", problems);
  if (name != nullptr) ReadSizeName(*name, problems, resource, size);
  if (const Node* replicas = Require(node, "replicas", problems)) {
    size.replicas = ReadSizeNumber(*replicas, problems, kMostMpsClients);
    resource.replicas += size.replicas;
    if (resource.replicas > kMostMpsClients && resource.replicas - size.replicas <= kMostMpsClients)
      problems.Add(*replicas, fmt::format("{} shares of a device are too many", resource.replicas),
                   fmt::format("it serves {} clients of MPS at most", kMostMpsClients));
  }
  if (const Node* memory = Require(node, "memory", problems))
    ReadSizeMemory(*memory, problems, size);
  if (const Node* threads = Require(node, "threads", problems))
    size.threads = ReadSizeNumber(*threads, problems, kWholeDevice);
  if (name == nullptr) return;
  resource.shares.push_back(std::move(size));
  names.push_back(name);
}

bool AreLimitsAlike(const ShareSize& a, const ShareSize& b) {
  return std::tuple(a.memory, a.memory_percent, a.threads) ==
         std::tuple(b.memory, b.memory_percent, b.threads);
}

// `first` is written before `second`.
void CheckPair(const SharesCalled& first, const SharesCalled& second, Problems& problems) {
  if (first.name != second.name || (first.size == nullptr && second.size == nullptr)) return;
  const bool both = first.size != nullptr && second.size != nullptr;
  if (both && first.of == second.of) {
    problems.Add(*second.place, fmt::format("{} is named twice", base::Quoted(second.size->name)));
  } else if (both) {
    if (first.of->name == second.of->name && AreLimitsAlike(*first.size, *second.size)) return;
    problems.Add(*second.place,
                 fmt::format("{} has other limits than in line {}", base::Quoted(second.name),
                             first.place->line),
                 "a name means one size: give it the same memory and threads, or another name");
  } else {
    const SharesCalled& sized = first.size != nullptr ? first : second;
    const SharesCalled& other = first.size != nullptr ? second : first;
    problems.Add(*sized.place, fmt::format("{} is another resource", base::Quoted(sized.name)),
                 fmt::format("that of line {}: choose another name", other.place->line));
  }
}

}  // namespace

std::string MemoryText(const ShareSize& size) {
  if (size.memory == 0) return fmt::format("{}%", size.memory_percent);
  if (size.memory % kGibibyte == 0) return fmt::format("{}Gi", size.memory / kGibibyte);
  if (size.memory % kMebibyte == 0) return fmt::format("{}Mi", size.memory / kMebibyte);
  return fmt::format("{}", size.memory);
}

void ReadSizes(const Node& key,
               const Node& node,
               PluginReading& reading,
               SharedResource& resource,
               std::vector<const Node*>& names) {
  if (!ExpectList(node, reading.errors, "a list of sizes")) return;
  if (node.items.empty())
    reading.errors.Add(node, "\"shares\" is empty", fmt::format("add {}", kSample));
  for (const Node& item : node.items) ReadOneSize(item, reading, resource, names);
  if (reading.within || reading.for_feature_discovery) return;
  reading.warnings.Add(key, "\"shares\" is partita's extension",
                       "NVIDIA's device plugin refuses a resource without \"replicas\"");
}

void CheckSizeNames(const std::vector<SharesCalled>& all, Problems& problems) {
  for (std::size_t i = 0; i < all.size(); ++i)
    for (std::size_t j = i + 1; j < all.size(); ++j) CheckPair(all[i], all[j], problems);
}

}  // namespace partita::config
