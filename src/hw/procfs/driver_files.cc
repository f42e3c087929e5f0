#include "hw/procfs/driver_files.h"

#include <algorithm>
#include <limits>
#include <utility>

#include <fmt/format.h>

#include "base/files.h"
#include "base/text.h"

namespace partita::hw::procfs {
namespace {

constexpr std::string_view kGpus = "proc/driver/nvidia/gpus";

std::optional<std::uint32_t> Small(std::string_view text) {
  const std::optional<std::uint64_t> value = base::ParseUnsigned(text);
  if (!value || *value > std::numeric_limits<std::uint32_t>::max()) return std::nullopt;
  return static_cast<std::uint32_t>(*value);
}

// "gi12" with prefix "gi" is 12.
std::optional<std::uint32_t> Numbered(std::string_view text, std::string_view prefix) {
  const std::optional<std::string_view> number = base::WithoutPrefix(text, prefix);
  return number ? Small(*number) : std::nullopt;
}

// "580.159.04": two or three numbers.
bool IsVersion(std::string_view word) {
  const std::vector<std::string_view> parts = base::Split(word, '.');
  return (parts.size() == 2 || parts.size() == 3) &&
         std::all_of(parts.begin(), parts.end(),
                     [](std::string_view part) { return Small(part).has_value(); });
}

std::optional<std::string> Known(std::string_view value) {
  if (value.empty() || value.find('?') != std::string_view::npos) return std::nullopt;
  return std::string(value);
}

// As NVML writes it; the file has the same letters in lower case.
std::optional<std::string> UpperCase(std::optional<std::string> text) {
  if (text) {
    std::transform(text->begin(), text->end(), text->begin(), [](char c) {
      return c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
    });
  }
  return text;
}

// Takes the text up to the separator, and the separator, off the front.
std::string_view TakeUntil(char separator, std::string_view& text) {
  const std::size_t end = std::min(text.find(separator), text.size());
  const std::string_view part = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  return part;
}

// "gpu0", if it is one of these.
std::optional<model::DeviceMinor> Wanted(std::string_view name,
                                         std::span<const model::DeviceMinor> gpus) {
  const std::optional<std::uint32_t> number = Numbered(name, "gpu");
  if (!number) return std::nullopt;
  const model::DeviceMinor gpu(*number);
  return std::find(gpus.begin(), gpus.end(), gpu) == gpus.end() ? std::nullopt : std::optional(gpu);
}

// "gi3/ci1/access", which follows the GPU.
std::optional<InstancePath> ParsePath(model::DeviceMinor gpu, std::string_view path) {
  const std::optional<std::uint32_t> gpu_instance = Numbered(TakeUntil('/', path), "gi");
  if (!gpu_instance) return std::nullopt;
  InstancePath instance{.gpu = gpu,
                        .gpu_instance = model::GpuInstanceId(*gpu_instance),
                        .compute_instance = std::nullopt};
  if (path == "access") return instance;
  const std::optional<std::uint32_t> compute_instance = Numbered(TakeUntil('/', path), "ci");
  if (!compute_instance || path != "access") return std::nullopt;
  instance.compute_instance = model::ComputeInstanceId(*compute_instance);
  return instance;
}

}  // namespace

std::optional<KernelModule> ParseVersion(std::string_view text) {
  const std::vector<std::string_view> lines = base::SplitLines(text);
  if (lines.empty()) return std::nullopt;
  const std::vector<std::string_view> words = base::SplitWords(lines.front());
  const auto version = std::find_if(words.begin(), words.end(), IsVersion);
  if (version == words.end()) return std::nullopt;
  return KernelModule{.version = std::string(*version),
                      .open = lines.front().find("Open Kernel Module") != std::string_view::npos};
}

GpuInformation ParseInformation(std::string_view text) {
  std::map<std::string_view, std::string_view> values;
  for (const std::string_view line : base::SplitLines(text)) {
    const std::size_t colon = line.find(':');
    if (colon == std::string_view::npos) continue;
    values.emplace(base::Trim(line.substr(0, colon)), base::Trim(line.substr(colon + 1)));
  }
  const auto value = [&values](std::string_view key) {
    const auto entry = values.find(key);
    return entry == values.end() ? std::string_view() : entry->second;
  };
  GpuInformation gpu;
  gpu.model = Known(value("Model")).value_or("");
  gpu.irq = Small(value("IRQ"));
  if (gpu.irq == 0U) gpu.irq.reset();  // none is set up
  gpu.vbios = UpperCase(Known(value("Video BIOS")));
  gpu.excluded = value("GPU Excluded") == "Yes";
  if (const auto uuid = Known(value("GPU UUID"))) gpu.uuid = model::GpuUuid(*uuid);
  if (const auto minor = Small(value("Device Minor"))) gpu.minor = model::DeviceMinor(*minor);
  const base::Result<model::PciAddress> pci = model::PciAddress::Parse(value("Bus Location"));
  if (pci.ok()) gpu.pci = *pci;
  return gpu;
}

CapabilityMinors ParseMigMinors(std::string_view text, std::span<const model::DeviceMinor> gpus) {
  CapabilityMinors minors;
  std::string_view owner;                 // of the line before: a GPU's 135 lines come together
  std::optional<model::DeviceMinor> gpu;  // the owner, if it is wanted
  while (!text.empty()) {
    std::string_view line = TakeUntil('\n', text);
    const std::string_view name = TakeUntil('/', line);
    if (name != owner) gpu = Wanted(owner = name, gpus);
    if (!gpu) continue;
    const std::string_view path = TakeUntil(' ', line);
    const std::optional<InstancePath> instance = ParsePath(*gpu, path);
    const std::optional<std::uint32_t> minor = Small(base::Trim(line));
    // The driver lists them in this order, so each goes to the end at once.
    if (instance && minor) {
      minors.emplace_hint(minors.end(), *instance, model::CapabilityMinor(*minor));
    }
  }
  return minors;
}

Majors ParseDevices(std::string_view text) {
  Majors majors;
  for (const std::string_view line : base::SplitLines(text)) {
    if (line.starts_with("Block devices:")) break;
    const std::vector<std::string_view> words = base::SplitWords(line);
    if (words.size() != 2) continue;
    if (const std::optional<std::uint32_t> major = Small(words[0])) {
      majors.emplace(std::string(words[1]), *major);
    }
  }
  return majors;
}

base::Result<KernelModule> ReadKernelModule(const std::string& root) {
  const std::string path = base::JoinPath(root, "proc/driver/nvidia/version");
  TRY(text, base::ReadFile(path));
  std::optional<KernelModule> module = ParseVersion(text);
  if (!module) {
    return base::MakeError(base::ErrorCode::kInternal, "{}: no driver version in {}", path,
                           base::Quoted(text))
        .WithHint("report it with this text; the driver itself may be fine");
  }
  return *std::move(module);
}

base::Result<std::vector<GpuInformation>> ReadGpus(const std::string& root) {
  const std::string directory = base::JoinPath(root, kGpus);
  TRY(names, base::ListDirectory(directory));
  std::vector<GpuInformation> gpus;
  for (const std::string& name : names) {
    const base::Result<model::PciAddress> pci = model::PciAddress::Parse(name);
    if (!pci.ok()) continue;
    const base::Result<std::string> text =
        base::ReadFile(base::JoinPath(directory, name + "/information"));
    // One that leaves while we look is not there.
    if (!text.ok()) continue;
    GpuInformation gpu = ParseInformation(*text);
    gpu.pci = *pci;
    gpus.push_back(std::move(gpu));
  }
  return gpus;
}

base::Result<CapabilityMinors> ReadMigMinors(const std::string& root,
                                             std::span<const model::DeviceMinor> gpus) {
  TRY(text, base::ReadFile(base::JoinPath(root, "proc/driver/nvidia-caps/mig-minors")));
  return ParseMigMinors(text, gpus);
}

base::Result<Majors> ReadMajors(const std::string& root) {
  TRY(text, base::ReadFile(base::JoinPath(root, "proc/devices")));
  return ParseDevices(text);
}

std::string ReadProcessName(const std::string& root, model::Pid pid) {
  if (pid.value() <= 0) return "";
  const std::string directory = base::JoinPath(root, fmt::format("proc/{}", pid));
  // The link needs rights over the process, its short name does not.
  if (base::Result<std::string> link = base::ReadLink(base::JoinPath(directory, "exe"));
      link.ok()) {
    return *std::move(link);
  }
  const base::Result<std::string> name = base::ReadFile(base::JoinPath(directory, "comm"));
  return name.ok() ? std::string(base::Trim(*name)) : "";
}

}  // namespace partita::hw::procfs
