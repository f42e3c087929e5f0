#include "sim/load/facts.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>

#include "base/text.h"
#include "config/binders.h"

namespace partita::sim::load {
namespace {

using config::Node;
using config::Problems;

// The largest number that a field of 32 bits holds besides "not available".
constexpr std::uint64_t kMaxWord = 0xFFFFFFFE;

struct Word {
  std::string text;
  std::uint32_t value;
};

// The value of a word; the same numbers that NVML uses.
std::optional<std::uint32_t> ReadWord(const Node& node,
                                      Problems& problems,
                                      std::span<const Word> words) {
  std::vector<std::string> texts;
  for (const Word& word : words) texts.push_back(word.text);
  const std::optional<std::size_t> at = config::ReadChoice(node, problems, texts);
  if (!at) return std::nullopt;
  return words[*at].value;
}

FactRow Number(std::string key, Fact Board::*member, std::uint64_t max = kMaxWord) {
  return {std::move(key), false, [=](const Node& node, Problems& problems, Product& out) {
            if (const auto value = config::ReadUnsigned(node, problems, {0, max})) {
              out.board.*member = {1, static_cast<std::uint32_t>(*value)};
            }
          }};
}

FactRow Switch(std::string key, Fact Board::*member) {
  return {std::move(key), false, [=](const Node& node, Problems& problems, Product& out) {
            if (const auto value = config::ReadBool(node, problems)) {
              out.board.*member = {1, *value ? 1U : 0U};
            }
          }};
}

FactRow Choice(std::string key, Fact Board::*member, std::vector<Word> words) {
  return {std::move(key), false,
          [=, words = std::move(words)](const Node& node, Problems& problems, Product& out) {
            if (const auto value = ReadWord(node, problems, words)) out.board.*member = {1, *value};
          }};
}

FactRow Plain(std::string key, std::uint32_t Board::*member, bool required, std::uint64_t max) {
  return {std::move(key), required, [=](const Node& node, Problems& problems, Product& out) {
            if (const auto value = config::ReadUnsigned(node, problems, {0, max})) {
              out.board.*member = static_cast<std::uint32_t>(*value);
            }
          }};
}

FactRow PlainWord(std::string key,
                  std::uint32_t Board::*member,
                  bool required,
                  std::vector<Word> words) {
  return {std::move(key), required,
          [=, words = std::move(words)](const Node& node, Problems& problems, Product& out) {
            if (const auto value = ReadWord(node, problems, words)) out.board.*member = *value;
          }};
}

FactRow Wide(std::string key, std::uint64_t Board::*member, bool required) {
  return {std::move(key), required, [=](const Node& node, Problems& problems, Product& out) {
            if (const auto value = config::ReadUnsigned(node, problems)) out.board.*member = *value;
          }};
}

template <std::size_t N>
FactRow Text(std::string key, char (Board::*member)[N], bool required = false) {
  return {std::move(key), required, [=](const Node& node, Problems& problems, Product& out) {
            if (const auto value = config::ReadString(node, problems)) {
              CopyText(*value, node, problems, out.board.*member);
            }
          }};
}

void ReadComputeCapability(const Node& node, Problems& problems, Product& out) {
  const auto text = config::ReadString(node, problems);
  if (!text) return;
  const std::vector<std::string_view> parts = base::Split(*text, '.');
  const auto major = base::ParseUnsigned(parts.front());
  const auto minor = base::ParseUnsigned(parts.back());
  if (parts.size() != 2 || !major || !minor || *major > 99 || *minor > 9) {
    problems.Add(node, "not a compute capability: " + base::Quoted(*text), "write \"9.0\"");
    return;
  }
  out.board.compute_major = static_cast<std::uint32_t>(*major);
  out.board.compute_minor = static_cast<std::uint32_t>(*minor);
}

void ReadMemoryClocks(const Node& node, Problems& problems, Product& out) {
  if (!config::ExpectList(node, problems, "memory clocks")) return;
  const std::vector<std::uint64_t> clocks = config::ReadUnsigneds(node, problems);
  if (clocks.size() > kMaxMemoryClocks) {
    problems.Add(node, "more than " + std::to_string(kMaxMemoryClocks) + " memory clocks");
    return;
  }
  if (!std::ranges::is_sorted(clocks, std::greater<>())) {
    problems.Add(node, "memory clocks must descend, as the driver lists them");
    return;
  }
  out.board.memory_clock_count = static_cast<std::uint32_t>(clocks.size());
  for (std::size_t i = 0; i < clocks.size(); ++i) {
    out.board.memory_clocks[i] = static_cast<std::uint32_t>(clocks[i]);
  }
}

// A board that remaps rows but whose number of banks nobody listed has the count 0.
void ReadRowRemapping(const Node& node, Problems& problems, Product& out) {
  if (const auto value = config::ReadBool(node, problems)) {
    out.board.row_remap_max_banks.known = *value ? 1U : 0U;
  }
}

FactRow NvLinks() {
  return {"nvlink_links", false, [](const Node& node, Problems& problems, Product& out) {
            if (const auto value = config::ReadUnsigned(node, problems, {0, kMaxLinks})) {
              out.nvlinks = static_cast<std::uint32_t>(*value);
            }
          }};
}

FactRow Fabric() {
  return {"fabric", false, [](const Node& node, Problems& problems, Product& out) {
            if (const auto value = config::ReadBool(node, problems)) out.fabric = *value;
          }};
}

FactRow Bar1() {
  return {"bar1_total", false, [](const Node& node, Problems& problems, Product& out) {
            if (const auto value = config::ReadUnsigned(node, problems)) {
              out.board.bar1_total = {1, *value};
            }
          }};
}

FactRow Margin() {
  return {"margin_temperature", false, [](const Node& node, Problems& problems, Product& out) {
            if (const auto value = config::ReadBool(node, problems)) {
              out.board.margin_temperature = *value ? 1U : 0U;
            }
          }};
}

std::vector<FactRow> MakeRows() {
  const std::vector<Word> architectures = {
      {"kepler", 2}, {"maxwell", 3}, {"pascal", 4}, {"volta", 5},      {"turing", 6},
      {"ampere", 7}, {"ada", 8},     {"hopper", 9}, {"blackwell", 10}, {"rubin", 13}};
  const std::vector<Word> brands = {{"quadro", 1},       {"tesla", 2},       {"nvs", 3},
                                    {"grid", 4},         {"geforce", 5},     {"titan", 6},
                                    {"quadro-rtx", 12},  {"nvidia-rtx", 13}, {"nvidia", 14},
                                    {"geforce-rtx", 15}, {"titan-rtx", 16}};
  const std::vector<Word> addressing = {{"none", 0}, {"hmm", 1}, {"ats", 2}};
  return {
      Text("name", &Board::name, true),
      PlainWord("brand", &Board::brand, true, brands),
      PlainWord("architecture", &Board::architecture, true, architectures),
      {"compute_capability", true, ReadComputeCapability},
      Plain("pci_device_id", &Board::pci_device_id, true, kMaxWord),
      Plain("pci_subsystem_id", &Board::pci_subsystem_id, false, kMaxWord),
      Plain("pci_class", &Board::pci_class, true, 0xFFFFFF),
      Text("part_number", &Board::part_number),
      Text("vbios", &Board::vbios),
      Text("inforom_image", &Board::inforom_image),
      Text("inforom_oem", &Board::inforom_oem),
      Text("inforom_ecc", &Board::inforom_ecc),
      Text("inforom_power", &Board::inforom_power),
      Number("cores", &Board::cores),
      Number("multiprocessors", &Board::multiprocessors),
      Wide("memory_total", &Board::memory_total, true),
      Wide("memory_reserved", &Board::memory_reserved, false),
      Number("memory_bus_width", &Board::memory_bus_width),
      Bar1(),
      Number("pcie_generation", &Board::pcie_generation, 7),
      Number("pcie_width", &Board::pcie_width, 32),
      Number("fans", &Board::fans, 16),
      Number("power_default_mw", &Board::power_default_mw),
      Number("power_min_mw", &Board::power_min_mw),
      Number("power_max_mw", &Board::power_max_mw),
      Number("power_idle_mw", &Board::power_idle_mw),
      Number("power_busy_mw", &Board::power_busy_mw),
      Number("clock_max_graphics", &Board::clock_max_graphics),
      Number("clock_max_memory", &Board::clock_max_memory),
      Number("clock_max_video", &Board::clock_max_video),
      Number("clock_idle_graphics", &Board::clock_idle_graphics),
      Number("clock_idle_memory", &Board::clock_idle_memory),
      Number("clock_idle_video", &Board::clock_idle_video),
      Number("clock_app_graphics", &Board::clock_app_graphics),
      Number("clock_app_memory", &Board::clock_app_memory),
      Number("clock_min_graphics", &Board::clock_min_graphics),
      Number("clock_step_graphics", &Board::clock_step_graphics),
      {"memory_clocks", false, ReadMemoryClocks},
      Number("performance_state_idle", &Board::performance_state_idle, 15),
      Number("temp_shutdown", &Board::temp_shutdown, 200),
      Number("temp_slowdown", &Board::temp_slowdown, 200),
      Number("temp_gpu_max", &Board::temp_gpu_max, 200),
      Number("temp_memory_max", &Board::temp_memory_max, 200),
      Number("temp_idle", &Board::temp_idle, 200),
      Number("temp_busy", &Board::temp_busy, 200),
      Number("temp_memory_idle", &Board::temp_memory_idle, 200),
      Margin(),
      Switch("ecc", &Board::ecc),
      {"row_remapping", false, ReadRowRemapping},
      Number("row_remap_max_banks", &Board::row_remap_max_banks),
      Choice("addressing_mode", &Board::addressing_mode, addressing),
      Switch("gsp_firmware", &Board::gsp_firmware),
      Wide("event_types", &Board::event_types, true),
      Fabric(),
      NvLinks(),
      Plain("nvlink_version", &Board::link_version, false, 8),
      Number("nvlink_mb_per_s", &Board::link_mb_per_s),
  };
}

}  // namespace

const std::vector<FactRow>& FactRows() {
  static const std::vector<FactRow> rows = MakeRows();
  return rows;
}

const FactRow* FindFactRow(std::string_view key) {
  const auto found = std::ranges::find(FactRows(), key, &FactRow::key);
  return found == FactRows().end() ? nullptr : &*found;
}

std::vector<std::string> FactKeys() {
  std::vector<std::string> keys;
  for (const FactRow& row : FactRows()) keys.push_back(row.key);
  return keys;
}

void CheckOrigin(const Node& map,
                 const std::vector<std::string>& sources,
                 std::string_view prefix,
                 Problems& problems) {
  static const std::vector<std::string> letters = {"V", "S", "D", "M", "?"};
  if (const Node* source = config::Require(map, std::string(prefix) + "source", problems)) {
    static_cast<void>(config::ReadChoice(*source, problems, sources));
  }
  if (const Node* letter = config::Require(map, std::string(prefix) + "confidence", problems)) {
    static_cast<void>(config::ReadChoice(*letter, problems, letters));
  }
}

const Node* CheckFact(const Node& fact,
                      const std::vector<std::string>& sources,
                      Problems& problems) {
  static const std::vector<std::string> keys = {"value", "source", "confidence"};
  if (!config::ExpectMap(fact, problems, "a fact with value, source and confidence")) {
    return nullptr;
  }
  config::RejectUnknownKeys(fact, keys, problems);
  CheckOrigin(fact, sources, "", problems);
  return config::Require(fact, "value", problems);
}

}  // namespace partita::sim::load
