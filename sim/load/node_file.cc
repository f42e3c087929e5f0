#include "sim/load/node_file.h"

#include <algorithm>
#include <map>

#include "base/text.h"
#include "config/binders.h"
#include "sim/load/facts.h"
#include "sim/load/identity.h"
#include "sim/load/node_gpus.h"
#include "sim/load/topology.h"

namespace partita::sim::load {
namespace {

using config::Node;
using config::Problems;

constexpr std::uint64_t kStartOfTime = 1'767'225'600'000'000'000;  // 2026-01-01T00:00:00Z
constexpr std::uint64_t kMaxMajor = 4095;                          // of the kernel's device numbers

// "580.159.04": two or three numbers, as feature discovery and CDI generation parse it.
bool IsDriverVersion(std::string_view text) {
  const std::vector<std::string_view> parts = base::Split(text, '.');
  return (parts.size() == 2 || parts.size() == 3) &&
         std::ranges::all_of(parts, [](std::string_view part) {
           return part.size() <= 6 && base::ParseUnsigned(part).has_value();
         });
}

void ReadVersion(const Node& node, Problems& problems, Machine& machine) {
  const auto version = config::ReadString(node, problems);
  if (!version) return;
  if (!IsDriverVersion(*version)) {
    problems.Add(node, "not a driver version: " + base::Quoted(*version), "write 580.159.04");
    return;
  }
  CopyText(*version, node, problems, machine.driver_version);
}

// "13.0" as NVML's 13000; NVML's own major version is the same number.
void ReadCuda(const Node& node, Problems& problems, Machine& machine) {
  const auto text = config::ReadString(node, problems);
  if (!text) return;
  const std::vector<std::string_view> parts = base::Split(*text, '.');
  const auto major = base::ParseUnsigned(parts.front());
  const auto minor = base::ParseUnsigned(parts.back());
  if (parts.size() != 2 || !major || !minor || *major < 9 || *major > 99 || *minor > 9) {
    problems.Add(node, "not a CUDA version: " + base::Quoted(*text), "write \"13.0\"");
    return;
  }
  machine.cuda_version = static_cast<std::uint32_t>(*major * 1000 + *minor * 10);
  machine.nvml_major = static_cast<std::uint32_t>(*major);
}

void ReadDriver(const Node& driver, Problems& problems, Machine& machine) {
  static const std::vector<std::string> keys = {"version", "branch", "cuda", "nvml_major",
                                                "open_kernel_module"};
  if (!config::ExpectMap(driver, problems, "the driver")) return;
  config::RejectUnknownKeys(driver, keys, problems);
  if (const Node* node = config::Require(driver, "version", problems)) {
    ReadVersion(*node, problems, machine);
  }
  if (const Node* node = config::Require(driver, "cuda", problems)) {
    ReadCuda(*node, problems, machine);
  }
  if (const Node* node = driver.Find("branch")) {
    if (const auto branch = config::ReadString(*node, problems)) {
      CopyText(*branch, *node, problems, machine.driver_branch);
    }
  }
  if (const Node* node = driver.Find("nvml_major")) {
    if (const auto major = config::ReadUnsigned(*node, problems, {11, 99})) {
      machine.nvml_major = static_cast<std::uint32_t>(*major);
    }
  }
  if (const Node* node = driver.Find("open_kernel_module")) {
    machine.open_kernel_module = config::ReadBool(*node, problems).value_or(true) ? 1 : 0;
  }
}

void ReadMajors(const Node& majors, Problems& problems, Machine& machine) {
  const std::map<std::string, std::uint32_t*> places = {
      {"gpu", &machine.major_gpu},           {"uvm", &machine.major_uvm},
      {"nvswitch", &machine.major_nvswitch}, {"nvlink", &machine.major_nvlink},
      {"caps", &machine.major_caps},         {"imex", &machine.major_imex}};
  std::vector<std::string> keys;
  keys.reserve(places.size());
  for (const auto& place : places) keys.push_back(place.first);
  if (!config::ExpectMap(majors, problems, "the device majors")) return;
  config::RejectUnknownKeys(majors, keys, problems);
  std::map<std::uint64_t, std::string> seen;
  for (const Node::Entry& entry : majors.entries) {
    const auto place = places.find(entry.key.text);
    if (place == places.end()) continue;
    const auto value = config::ReadUnsigned(entry.value, problems, {1, kMaxMajor});
    if (!value) continue;
    *place->second = static_cast<std::uint32_t>(*value);
    const auto [other, fresh] = seen.emplace(*value, entry.key.text);
    if (!fresh) problems.Add(entry.value, "the same major as " + base::Quoted(other->second));
  }
}

// Majors as seen with driver 580.159.04; the highest profile constant of that driver.
void SetDefaults(Machine& machine) {
  machine.open_kernel_module = 1;
  machine.major_gpu = 195;
  machine.major_uvm = 238;
  machine.major_nvswitch = 239;
  machine.major_nvlink = 240;
  machine.major_caps = 241;
  machine.major_imex = 242;
  machine.highest_gi_constant = 16;
  machine.seed = 1;
}

void ReadSwitches(const Node& root, Problems& problems, LoadedNode& out) {
  const Node* switches = root.Find("switches");
  if (switches == nullptr || !config::ExpectList(*switches, problems, "the NVSwitches")) return;
  if (switches->items.empty()) return;
  Machine& machine = *out.machine;
  if (const Node* id = config::Require(root, "switch_device_id", problems)) {
    out.switch_device_id = static_cast<std::uint32_t>(
        config::ReadUnsigned(*id, problems, {0, 0xFFFFFFFF}).value_or(0));
  }
  for (const Node& item : switches->items) {
    if (machine.switch_count == kMaxSwitches) {
      problems.Add(item, "more than " + std::to_string(kMaxSwitches) + " NVSwitches");
      return;
    }
    if (const auto address = ReadPciAddress(item, problems)) {
      machine.switches[machine.switch_count++] = *address;
    }
  }
}

// Shown as a line of a file.
std::string ReadLine(const Node& node, Problems& problems) {
  std::string text = config::ReadString(node, problems).value_or("");
  if (text.empty() || std::ranges::any_of(text, [](char c) { return c >= 0 && c < ' '; })) {
    problems.Add(node, "not a name: " + base::Quoted(text));
  }
  return text;
}

void ReadDmi(const Node& dmi, Problems& problems, LoadedNode& out) {
  static const std::vector<std::string> keys = {"sys_vendor", "product_name"};
  if (!config::ExpectMap(dmi, problems, "the DMI names")) return;
  config::RejectUnknownKeys(dmi, keys, problems);
  out.dmi.emplace();
  if (const Node* node = dmi.Find("sys_vendor")) out.dmi->sys_vendor = ReadLine(*node, problems);
  if (const Node* node = config::Require(dmi, "product_name", problems)) {
    out.dmi->product_name = ReadLine(*node, problems);
  }
}

void ReadHeader(const Node& root, Problems& problems, LoadedNode& out) {
  Machine& machine = *out.machine;
  if (const Node* node = root.Find("name")) {
    if (const auto name = config::ReadString(*node, problems)) {
      const auto checked = CheckNodeName(*name);
      if (!checked.ok()) problems.Add(*node, checked.error().message());
      out.name = *name;
    }
  }
  if (const Node* node = root.Find("description")) {
    out.description = config::ReadString(*node, problems).value_or("");
  }
  if (const Node* driver = config::Require(root, "driver", problems)) {
    ReadDriver(*driver, problems, machine);
  }
  if (const Node* dmi = root.Find("dmi")) ReadDmi(*dmi, problems, out);
  if (const Node* majors = root.Find("majors")) ReadMajors(*majors, problems, machine);
  if (const Node* node = root.Find("seed")) {
    machine.seed = config::ReadUnsigned(*node, problems).value_or(1);
  }
  if (const Node* node = root.Find("idle_mode_change")) {
    machine.idle_mode_change = config::ReadBool(*node, problems).value_or(false) ? 1 : 0;
  }
  if (const Node* node = root.Find("profiles_need_mig")) {
    machine.profiles_need_mig = config::ReadBool(*node, problems).value_or(false) ? 1 : 0;
  }
  if (const Node* node = root.Find("highest_gi_profile")) {
    machine.highest_gi_constant =
        static_cast<std::uint32_t>(config::ReadUnsigned(*node, problems, {6, 31}).value_or(16));
  }
  ReadSwitches(root, problems, out);
}

void StartState(const Machine& machine, const GpuStart& start, Slot& slot) {
  slot.boot = 1;
  const std::string boot_id = DeriveUuid(machine.seed, machine.node, "boot 1");
  boot_id.copy(slot.boot_id, sizeof slot.boot_id - 1);
  slot.driver_loads = 1;
  slot.driver_loaded = 1;
  slot.clock.frozen = 1;
  slot.clock.base_ns = kStartOfTime;
  slot.booted_ns = slot.driver_loaded_ns = kStartOfTime;
  slot.next_incarnation = slot.next_event = slot.next_fault_id = 1;
  for (std::uint32_t i = 0; i < machine.gpu_count; ++i) {
    Gpu& gpu = slot.gpus[i];
    const Board& board = machine.boards[i];
    gpu.ecc_current = gpu.ecc_pending = board.ecc.known != 0 ? board.ecc.value : 0;
    gpu.persistence_mode = start.persistence ? 1 : 0;
    gpu.mig_current = gpu.mig_pending = start.mig[i] ? 1 : 0;
    gpu.pci_driver = start.drivers[i];
  }
}

std::string AllowedCharacters() { return "lower-case letters, digits, \"-\" and \".\""; }

}  // namespace

base::Result<void> CheckNodeName(std::string_view name) {
  static const std::vector<std::string> taken = {"dev", "etc", "lib", "proc", "run",
                                                 "sim", "sys", "usr", "var"};
  const auto plain = [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'); };
  if (name.empty() || name.size() > 63 || !plain(name.front()) || !plain(name.back()) ||
      !std::ranges::all_of(name, [&](char c) { return plain(c) || c == '-' || c == '.'; })) {
    return base::MakeError(base::ErrorCode::kInvalid,
                           "{} cannot be the name of a node: at most 63 {}, beginning and ending "
                           "with a letter or digit",
                           base::Quoted(name), AllowedCharacters());
  }
  if (std::ranges::find(taken, name) != taken.end()) {
    return base::MakeError(base::ErrorCode::kInvalid,
                           "{} cannot be the name of a node: it is a directory inside one",
                           base::Quoted(name));
  }
  return {};
}

base::Result<LoadedNode> LoadNode(const DataFile& file,
                                  const Catalog& catalog,
                                  std::string_view node_name) {
  static const std::vector<std::string> keys = {"name",
                                                "description",
                                                "driver",
                                                "dmi",
                                                "majors",
                                                "seed",
                                                "idle_mode_change",
                                                "highest_gi_profile",
                                                "profiles_need_mig",
                                                "persistence",
                                                "virtualization",
                                                "nvlink",
                                                "switches",
                                                "switch_device_id",
                                                "fabric_state",
                                                "fabric_cluster",
                                                "fabric_clique",
                                                "numa",
                                                "gpus"};
  TRY(document, config::Document::Parse(file.text, file.path));
  Problems problems(document);
  const Node& root = document.root();
  if (!config::ExpectMap(root, problems, "a node file")) return problems.ToResult().error();
  config::RejectUnknownKeys(root, keys, problems);

  LoadedNode out;
  out.name = file.name;
  out.machine = std::make_unique<Machine>();
  out.slot = std::make_unique<Slot>();
  SetDefaults(*out.machine);
  ReadHeader(root, problems, out);
  const std::string node(node_name.empty() ? std::string_view(out.name) : node_name);
  TRY_VOID(CheckNodeName(node));
  node.copy(out.machine->node, sizeof out.machine->node - 1);

  TRY(start, ReadGpus(root, catalog, problems, *out.machine));
  TRY_VOID(problems.ToResult());
  ConnectPcie(*out.machine);
  StartState(*out.machine, start, *out.slot);
  out.iommu_groups = std::move(start.iommu_groups);
  return out;
}

}  // namespace partita::sim::load
