#include "sim/load/node_gpus.h"

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "base/text.h"
#include "config/binders.h"
#include "sim/load/facts.h"
#include "sim/load/identity.h"
#include "sim/load/pci_address.h"
#include "sim/load/product.h"
#include "sim/load/topology.h"

namespace partita::sim::load {
namespace {

using config::Node;
using config::Problems;

constexpr std::uint32_t kWordBits = 64;

struct CpuSet {
  std::uint64_t words[16] = {};
};
constexpr std::uint64_t kMaxCpus = sizeof(CpuSet::words) * 8;

// One entry of `gpus:`.
struct Entry {
  const Node* node = nullptr;
  Product product;
  std::optional<std::uint32_t> minor;
  std::optional<std::uint32_t> iommu_group;
  bool mig = false;
  PciDriver driver = PciDriver::kNvidia;
};

// What one address or name may be used for only once.
class Uses {
 public:
  void Claim(const std::string& what, const Node& node, Problems& problems) {
    const auto [other, fresh] = lines_.emplace(what, node.line);
    if (!fresh) {
      problems.Add(node, what + " is used twice", "also in line " + std::to_string(other->second));
    }
  }

 private:
  std::map<std::string, int> lines_;
};

std::optional<CpuSet> ReadCpus(const Node& node, Problems& problems) {
  const auto text = config::ReadString(node, problems);
  if (!text) return std::nullopt;
  CpuSet cpus;
  for (const std::string_view range : base::Split(*text, ',')) {
    const std::vector<std::string_view> ends = base::Split(range, '-');
    const auto first = base::ParseUnsigned(ends.front());
    const auto last = base::ParseUnsigned(ends.back());
    if (ends.size() > 2 || !first || !last || *first > *last || *last >= kMaxCpus) {
      problems.Add(node, "not a list of CPUs: " + base::Quoted(*text),
                   "write 0-15 or \"0-63,128-191\", below " + std::to_string(kMaxCpus));
      return std::nullopt;
    }
    for (std::uint64_t cpu = *first; cpu <= *last; ++cpu) {
      cpus.words[cpu / kWordBits] |= std::uint64_t{1} << (cpu % kWordBits);
    }
  }
  return cpus;
}

std::map<std::uint64_t, CpuSet> ReadNuma(const Node& root, Problems& problems) {
  static const std::vector<std::string> keys = {"node", "cpus"};
  std::map<std::uint64_t, CpuSet> nodes;
  const Node* numa = root.Find("numa");
  if (numa == nullptr || !config::ExpectList(*numa, problems, "the NUMA nodes")) return nodes;
  for (const Node& item : numa->items) {
    if (!config::ExpectMap(item, problems, "a NUMA node")) continue;
    config::RejectUnknownKeys(item, keys, problems);
    const Node* node = config::Require(item, "node", problems);
    const Node* cpus = config::Require(item, "cpus", problems);
    if (node == nullptr || cpus == nullptr) continue;
    const auto number = config::ReadUnsigned(*node, problems, {0, 255});
    const auto set = ReadCpus(*cpus, problems);
    if (!number || !set) continue;
    if (!nodes.emplace(*number, *set).second) {
      problems.Add(*node, "NUMA node " + std::to_string(*number) + " is listed twice");
    }
  }
  return nodes;
}

void ReadBridges(const Node& gpu, Problems& problems, Board& board) {
  const Node* bridges = gpu.Find("bridges");
  if (bridges == nullptr || !config::ExpectList(*bridges, problems, "the bridges")) return;
  for (const Node& item : bridges->items) {
    if (board.bridge_count == kMaxBridges) {
      problems.Add(item, "more than " + std::to_string(kMaxBridges) + " bridges above a GPU");
      return;
    }
    if (const auto address = ReadPciAddress(item, problems)) {
      board.bridges[board.bridge_count++] = *address;
    }
  }
}

void ReadPlace(const Node& gpu,
               const std::map<std::uint64_t, CpuSet>& numa,
               Problems& problems,
               Board& board) {
  if (const Node* pci = config::Require(gpu, "pci", problems)) {
    if (const auto address = ReadPciAddress(*pci, problems)) board.pci = *address;
  }
  ReadBridges(gpu, problems, board);
  board.numa_node = -1;
  const Node* node = gpu.Find("numa");
  if (node == nullptr) return;
  const auto number = config::ReadUnsigned(*node, problems, {0, 255});
  if (!number) return;
  const auto found = numa.find(*number);
  if (found == numa.end()) {
    problems.Add(*node, "no NUMA node " + std::to_string(*number) + " in this file",
                 "list it under numa: with its CPUs");
    return;
  }
  board.numa_node = static_cast<std::int32_t>(*number);
  std::ranges::copy(found->second.words, board.cpu_affinity);
}

void ReadIdentity(const Node& gpu, Problems& problems, Entry& entry) {
  Board& board = entry.product.board;
  if (const Node* node = gpu.Find("uuid")) {
    const auto uuid = config::ReadString(*node, problems);
    if (uuid && !IsGpuUuid(*uuid)) {
      problems.Add(*node, "not a GPU UUID: " + base::Quoted(*uuid),
                   "write GPU- and 8-4-4-4-12 hex digits in lower case");
    } else if (uuid) {
      CopyText(*uuid, *node, problems, board.uuid);
    }
  }
  if (const Node* node = gpu.Find("serial")) {
    if (const auto serial = config::ReadString(*node, problems)) {
      CopyText(*serial, *node, problems, board.serial);
    }
  }
  if (const Node* node = gpu.Find("module_id")) {
    if (const auto id = config::ReadUnsigned(*node, problems, {0, 255})) {
      board.module_id = {1, static_cast<std::uint32_t>(*id)};
    }
  }
  if (const Node* node = gpu.Find("irq")) {
    if (const auto irq = config::ReadUnsigned(*node, problems, {0, 65535})) {
      board.irq = {1, static_cast<std::uint32_t>(*irq)};
    }
  }
  if (const Node* node = gpu.Find("minor")) {
    if (const auto minor = config::ReadUnsigned(*node, problems, {0, kMaxGpus - 1})) {
      entry.minor = static_cast<std::uint32_t>(*minor);
    }
  }
}

void ReadStart(const Node& gpu, Problems& problems, Entry& entry) {
  static const std::vector<std::string> drivers = {"nvidia", "vfio", "unbound"};
  if (const Node* node = gpu.Find("iommu_group")) {
    if (const auto group = config::ReadUnsigned(*node, problems, {0, 65535})) {
      entry.iommu_group = static_cast<std::uint32_t>(*group);
    }
  }
  if (const Node* node = gpu.Find("mig")) {
    entry.mig = config::ReadBool(*node, problems).value_or(false);
    if (entry.mig && entry.product.board.mig_activation == MigActivation::kNone) {
      problems.Add(*node, base::Quoted(entry.product.board.product) + " cannot do MIG");
    }
  }
  if (const Node* node = gpu.Find("pci_driver")) {
    const auto driver = config::ReadChoice(*node, problems, drivers);
    entry.driver = static_cast<PciDriver>(driver.value_or(0));
  }
}

// The product of a GPU, read once per product. Null after a problem of the node file.
base::Result<const Product*> FindProduct(const Node& gpu,
                                         const Catalog& catalog,
                                         Problems& problems,
                                         std::map<std::string, Product>& loaded) {
  const Node* node = config::Require(gpu, "product", problems);
  const auto name = node == nullptr ? std::nullopt : config::ReadString(*node, problems);
  if (!name) return nullptr;
  const DataFile* file = catalog.FindProduct(*name);
  if (file == nullptr) {
    const std::vector<std::string> names = Names(catalog.products());
    const std::string near = base::DidYouMean(*name, names);
    problems.Add(*node, "unknown product " + base::Quoted(*name),
                 near.empty() ? "known are " + base::JoinWithOr(names)
                              : "did you mean " + base::Quoted(near) + "?");
    return nullptr;
  }
  auto found = loaded.find(*name);
  if (found == loaded.end()) {
    TRY(product, LoadProduct(*file));
    found = loaded.emplace(*name, product).first;
  }
  return &found->second;
}

base::Result<std::vector<Entry>> ReadEntries(const Node& root,
                                             const Catalog& catalog,
                                             Problems& problems) {
  static const std::vector<std::string> keys = {
      "product", "pci",   "bridges", "numa",        "uuid",       "serial",   "module_id",
      "irq",     "minor", "mig",     "iommu_group", "pci_driver", "overrides"};
  std::vector<Entry> entries;
  const Node* gpus = config::Require(root, "gpus", problems);
  if (gpus == nullptr || !config::ExpectList(*gpus, problems, "the GPUs")) return entries;
  if (gpus->items.size() > kMaxGpus) {
    problems.Add(gpus->items[kMaxGpus], "more than " + std::to_string(kMaxGpus) + " GPUs",
                 "a simulated node has room for so many");
    return entries;
  }
  const std::map<std::uint64_t, CpuSet> numa = ReadNuma(root, problems);
  std::map<std::string, Product> loaded;
  for (const Node& gpu : gpus->items) {
    if (!config::ExpectMap(gpu, problems, "a GPU")) continue;
    config::RejectUnknownKeys(gpu, keys, problems);
    TRY(product, FindProduct(gpu, catalog, problems, loaded));
    Entry entry;
    entry.node = &gpu;
    if (product != nullptr) entry.product = *product;
    ReadPlace(gpu, numa, problems, entry.product.board);
    ReadIdentity(gpu, problems, entry);
    if (product != nullptr) ReadStart(gpu, problems, entry);
    if (const Node* overrides = gpu.Find("overrides")) {
      ApplyOverrides(*overrides, problems, entry.product);
    }
    entries.push_back(entry);
  }
  return entries;
}

// A bridge may stand above several GPUs, but it is a bridge only, and always below the same ones.
void CheckAddresses(const std::vector<Entry>& entries, const Node& root, Problems& problems) {
  Uses uses;
  std::map<std::string, std::string> parents;
  for (const Entry& entry : entries) {
    const Board& board = entry.product.board;
    const Node* pci = entry.node->Find("pci");
    if (pci != nullptr) uses.Claim(FormatPciAddress(board.pci), *pci, problems);
  }
  if (const Node* switches = root.Find("switches")) {
    for (const Node& item : switches->items) uses.Claim(base::ToLower(item.text), item, problems);
  }
  for (const Entry& entry : entries) {
    const Board& board = entry.product.board;
    const Node* bridges = entry.node->Find("bridges");
    std::string above;
    for (std::uint32_t i = 0; i < board.bridge_count && bridges != nullptr; ++i) {
      const std::string address = FormatPciAddress(board.bridges[i]);
      const auto [known, fresh] = parents.emplace(address, above);
      if (fresh) uses.Claim(address, bridges->items[i], problems);
      if (known->second != above) {
        problems.Add(bridges->items[i],
                     "bridge " + address + " hangs below " + (above.empty() ? "the root" : above) +
                         " here and below " + (known->second.empty() ? "the root" : known->second) +
                         " elsewhere");
      }
      above = address;
    }
  }
}

void CheckModules(const Machine& machine, const std::vector<Entry>& entries, Problems& problems) {
  for (const Entry& entry : entries) {
    const Board& board = entry.product.board;
    const bool driven = entry.driver == PciDriver::kNvidia;
    if (machine.open_kernel_module == 0 || !driven || !IsTooOldForOpenModules(board)) continue;
    problems.Add(*entry.node->Find("product"),
                 base::Quoted(board.product) + " is older than the open kernel modules drive",
                 "they begin with Turing: write open_kernel_module: false under driver:");
  }
}

// The lowest number that no GPU asked for, for those that did not ask.
void AssignMinors(std::vector<Entry>& entries, Problems& problems) {
  Uses uses;
  std::vector<bool> taken(kMaxGpus, false);
  for (const Entry& entry : entries) {
    if (!entry.minor) continue;
    uses.Claim("minor " + std::to_string(*entry.minor), *entry.node->Find("minor"), problems);
    taken[*entry.minor] = true;
  }
  std::uint32_t next = 0;
  for (Entry& entry : entries) {
    if (!entry.minor) {
      while (taken[next]) ++next;
      entry.minor = next;
      taken[next] = true;
    }
    entry.product.board.minor = *entry.minor;
  }
}

// Whoever can do MIG needs numbers for its instances.
void CheckMigMinors(const std::vector<Entry>& entries, Problems& problems) {
  for (const Entry& entry : entries) {
    const Board& board = entry.product.board;
    if (board.mig_activation == MigActivation::kNone || board.minor < kMaxMigMinors) continue;
    problems.Add(
        *entry.node, "minor " + std::to_string(board.minor) + " for a GPU that can do MIG",
        "the driver numbers MIG capabilities for minors below " + std::to_string(kMaxMigMinors));
  }
}

void AssignNames(const Machine& machine, std::vector<Entry>& entries, Problems& problems) {
  Uses uses;
  for (Entry& entry : entries) {
    Board& board = entry.product.board;
    const std::string place = FormatPciAddress(board.pci);
    if (board.uuid[0] == '\0') {
      const std::string uuid = "GPU-" + DeriveUuid(machine.seed, machine.node, place);
      uuid.copy(board.uuid, sizeof board.uuid - 1);
    }
    if (board.serial[0] == '\0') {
      const std::string serial = DeriveSerial(machine.seed, machine.node, "serial " + place);
      serial.copy(board.serial, sizeof board.serial - 1);
    }
    const Node* uuid = entry.node->Find("uuid");
    if (uuid != nullptr) uses.Claim(board.uuid, *uuid, problems);
  }
}

enum class NvLink { kNone, kSwitches, kPairs };

// What holds for all GPUs of the file.
struct Settings {
  NvLink nvlink = NvLink::kNone;
  std::optional<std::uint32_t> fabric_state;
  std::array<std::uint8_t, 16> fabric_cluster = {};  // all zero: the fabric manager gave none
  std::uint32_t fabric_clique = 0;
  std::uint32_t virtualization = 0;
};

// "5c89852c-d268-c3f3-1b07-005d5ae1dc3f"
std::optional<std::array<std::uint8_t, 16>> ParseCluster(std::string_view text) {
  std::array<std::uint8_t, 16> bytes = {};
  if (text.size() != 36) return std::nullopt;
  std::size_t filled = 0;
  for (std::size_t i = 0; i < text.size(); i += 2) {
    if (i == 8 || i == 13 || i == 18 || i == 23) {
      if (text[i] != '-') return std::nullopt;
      ++i;
    }
    const auto byte = base::ParseUnsigned(text.substr(i, 2), 16);
    if (!byte) return std::nullopt;
    bytes.at(filled++) = static_cast<std::uint8_t>(*byte);
  }
  return bytes;
}

void ReadFabric(const Node& root, Problems& problems, Settings& settings) {
  if (const Node* node = root.Find("fabric_state")) {
    if (const auto state = config::ReadUnsigned(*node, problems, {0, 3})) {
      settings.fabric_state = static_cast<std::uint32_t>(*state);
    }
  }
  if (const Node* node = root.Find("fabric_cluster")) {
    const auto text = config::ReadString(*node, problems);
    const auto cluster = text ? ParseCluster(*text) : std::nullopt;
    if (cluster) {
      settings.fabric_cluster = *cluster;
    } else if (text) {
      problems.Add(*node, "not a UUID: " + base::Quoted(*text),
                   "write it as 5c89852c-d268-c3f3-1b07-005d5ae1dc3f");
    }
  }
  if (const Node* node = root.Find("fabric_clique")) {
    if (const auto clique = config::ReadUnsigned(*node, problems, {0, 0xFFFFFFFF})) {
      settings.fabric_clique = static_cast<std::uint32_t>(*clique);
    }
  }
}

Settings ReadSettings(const Node& root, const Machine& machine, Problems& problems) {
  static const std::vector<std::string> links = {"none", "switches", "pairs"};
  static const std::vector<std::string> modes = {"none", "pass-through", "vgpu", "host-vgpu",
                                                 "host-vsga"};
  Settings settings;
  if (const Node* node = root.Find("nvlink")) {
    settings.nvlink = static_cast<NvLink>(config::ReadChoice(*node, problems, links).value_or(0));
    if (settings.nvlink == NvLink::kSwitches && machine.switch_count == 0) {
      problems.Add(*node, "no NVSwitch in this file", "list their addresses under switches:");
    }
  }
  ReadFabric(root, problems, settings);
  if (const Node* node = root.Find("virtualization")) {
    settings.virtualization =
        static_cast<std::uint32_t>(config::ReadChoice(*node, problems, modes).value_or(0));
  }
  return settings;
}

void ConnectPairs(std::vector<Entry>& entries, Problems& problems) {
  std::vector<Entry*> linked;
  for (Entry& entry : entries) {
    if (entry.product.nvlinks > 0) linked.push_back(&entry);
  }
  for (std::size_t i = 0; i < linked.size(); i += 2) {
    Product& first = linked[i]->product;
    if (i + 1 == linked.size() || first.nvlinks != linked[i + 1]->product.nvlinks) {
      problems.Add(*linked[i]->node, "no partner with as many NVLinks follows this GPU",
                   "nvlink: pairs joins the 1st with the 2nd, the 3rd with the 4th, and so on");
      return;
    }
    ConnectPair(first.nvlinks, first.board, linked[i + 1]->product.board);
  }
}

void ApplySettings(const Settings& settings,
                   const Machine& machine,
                   std::vector<Entry>& entries,
                   Problems& problems) {
  const bool switched = settings.nvlink == NvLink::kSwitches;
  if (settings.nvlink == NvLink::kPairs) ConnectPairs(entries, problems);
  for (Entry& entry : entries) {
    Board& board = entry.product.board;
    if (switched) ConnectToSwitches(machine, entry.product.nvlinks, board);
    // Where switches exist a fabric manager has finished; without them such a board answers 0.
    if (entry.product.fabric) {
      board.fabric_state = {1, settings.fabric_state.value_or(switched ? 3 : 0)};
      std::copy(settings.fabric_cluster.begin(), settings.fabric_cluster.end(),
                board.fabric_cluster_uuid);
      board.fabric_clique = settings.fabric_clique;
    }
    board.virtualization_mode = {1, settings.virtualization};
  }
}

}  // namespace

bool IsTooOldForOpenModules(const Board& board) {
  constexpr std::uint32_t kTuring = 6;  // NVML_DEVICE_ARCH_TURING
  return board.architecture < kTuring;
}

std::optional<PciFunction> ReadPciAddress(const Node& node, Problems& problems) {
  const auto text = config::ReadString(node, problems);
  if (!text) return std::nullopt;
  const auto address = ParsePciAddress(*text);
  if (!address) {
    problems.Add(node, "not a PCI address: " + base::Quoted(*text),
                 "write \"0000:07:00.0\"; the function is always 0");
  }
  return address;
}

base::Result<GpuStart> ReadGpus(const Node& root,
                                const Catalog& catalog,
                                Problems& problems,
                                Machine& machine) {
  GpuStart start;
  if (const Node* node = root.Find("persistence")) {
    start.persistence = config::ReadBool(*node, problems).value_or(true);
  }
  const Settings settings = ReadSettings(root, machine, problems);
  const std::size_t before = problems.size();
  TRY(entries, ReadEntries(root, catalog, problems));
  if (problems.size() != before) return start;  // what follows compares what was read

  std::ranges::stable_sort(entries, [](const Entry& a, const Entry& b) {
    return Compare(a.product.board.pci, b.product.board.pci) < 0;
  });
  CheckAddresses(entries, root, problems);
  CheckModules(machine, entries, problems);
  AssignMinors(entries, problems);
  CheckMigMinors(entries, problems);
  AssignNames(machine, entries, problems);
  ApplySettings(settings, machine, entries, problems);
  for (const Entry& entry : entries) {
    machine.boards[machine.gpu_count++] = entry.product.board;
    start.mig.push_back(entry.mig);
    start.drivers.push_back(entry.driver);
    start.iommu_groups.push_back(entry.iommu_group);
  }
  return start;
}

}  // namespace partita::sim::load
