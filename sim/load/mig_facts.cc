#include "sim/load/mig_facts.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string_view>

#include "base/text.h"
#include "config/binders.h"
#include "sim/load/facts.h"

namespace partita::sim::load {
namespace {

using config::Node;
using config::Problems;

constexpr std::uint64_t kMaxSlices = 64;
constexpr std::uint64_t kMaxCount = 10'000'000;

// The number at a key of a table's row; 0 after a problem.
std::uint32_t Column(const Node& row, std::string_view key, Problems& problems, std::uint64_t max) {
  const Node* node = config::Require(row, key, problems);
  if (node == nullptr) return 0;
  return static_cast<std::uint32_t>(config::ReadUnsigned(*node, problems, {0, max}).value_or(0));
}

// Starts of placements: ascending, and with their size inside `slices`.
template <std::size_t N>
std::uint32_t ReadStarts(const Node& row,
                         std::uint32_t size,
                         std::uint32_t slices,
                         Problems& problems,
                         std::uint32_t (&out)[N]) {
  const Node* node = config::Require(row, "starts", problems);
  if (node == nullptr || !config::ExpectList(*node, problems, "placement starts")) return 0;
  const std::vector<std::uint64_t> starts = config::ReadUnsigneds(*node, problems);
  if (starts.empty() || starts.size() > N) {
    problems.Add(*node, "between 1 and " + std::to_string(N) + " placements are needed");
    return 0;
  }
  for (std::size_t i = 0; i < starts.size(); ++i) {
    if (starts[i] + size > slices || (i > 0 && starts[i] <= starts[i - 1])) {
      problems.Add(*node, "a placement of " + std::to_string(size) + " at " +
                              std::to_string(starts[i]) + " does not ascend or leaves the " +
                              std::to_string(slices) + " slices");
      return 0;
    }
    out[i] = static_cast<std::uint32_t>(starts[i]);
  }
  return static_cast<std::uint32_t>(starts.size());
}

// "+me" of "1g.5gb+me". The part before it is for readers; a test compares it with the numbers.
void ReadAttributes(const Node& row, Problems& problems, GiProfile& profile) {
  const Node* node = config::Require(row, "name", problems);
  if (node == nullptr) return;
  const std::optional<std::string> name = config::ReadString(*node, problems);
  if (!name) return;
  const std::size_t sign = name->find_first_of("+-");
  if (sign == std::string::npos) return;
  static const std::vector<std::string> known = {"+me", "+me.all", "+gfx", "-me"};
  const std::string attributes = name->substr(sign);
  if (std::ranges::find(known, attributes) == known.end()) {
    problems.Add(*node, "unknown profile attribute " + base::Quoted(attributes),
                 "known are " + base::JoinWithOr(known));
    return;
  }
  CopyText(attributes, *node, problems, profile.attributes);
  if (attributes == "+gfx") profile.capabilities |= 2;
}

void ReadGiRow(const Node& row, Problems& problems, Board& board) {
  static const std::vector<std::string> keys = {"name",      "constant", "id",  "slices", "count",
                                                "memory_mb", "sm",       "ce",  "dec",    "enc",
                                                "jpeg",      "ofa",      "p2p", "size",   "starts"};
  if (!config::ExpectMap(row, problems, "a GPU instance profile")) return;
  config::RejectUnknownKeys(row, keys, problems);
  GiProfile profile{};
  profile.constant = Column(row, "constant", problems, 31);
  profile.id = Column(row, "id", problems, 255);
  profile.slice_count = Column(row, "slices", problems, board.compute_slices);
  profile.instance_count = Column(row, "count", problems, kMaxGpuInstances);
  profile.multiprocessors = Column(row, "sm", problems, kMaxCount);
  profile.copy_engines = Column(row, "ce", problems, kMaxCount);
  profile.decoders = Column(row, "dec", problems, kMaxCount);
  profile.encoders = Column(row, "enc", problems, kMaxCount);
  profile.jpegs = Column(row, "jpeg", problems, kMaxCount);
  profile.ofas = Column(row, "ofa", problems, kMaxCount);
  profile.memory_mb = Column(row, "memory_mb", problems, kMaxCount);
  profile.p2p = Column(row, "p2p", problems, 1);
  profile.capabilities = profile.p2p;
  ReadAttributes(row, problems, profile);
  profile.placement_size = Column(row, "size", problems, board.memory_slices);
  profile.placement_count = ReadStarts(row, profile.placement_size, board.memory_slices, problems,
                                       profile.placement_starts);
  for (std::uint32_t i = 0; i < board.gi_profile_count; ++i) {
    if (board.gi_profiles[i].constant == profile.constant ||
        board.gi_profiles[i].id == profile.id) {
      problems.Add(row, "another profile has the same constant or id");
      return;
    }
  }
  if (profile.instance_count == 0) {
    problems.Add(row, "the count of a profile is at least 1", "clients size arrays by it");
    return;
  }
  board.gi_profiles[board.gi_profile_count++] = profile;
}

const GiProfile* FindProfile(const Board& board, std::uint64_t constant) {
  for (std::uint32_t i = 0; i < board.gi_profile_count; ++i) {
    if (board.gi_profiles[i].constant == constant) return &board.gi_profiles[i];
  }
  return nullptr;
}

void ReadCiRow(const Node& row, Problems& problems, Board& board) {
  static const std::vector<std::string> keys = {"in", "id", "slices", "count", "sm", "starts"};
  if (!config::ExpectMap(row, problems, "a compute instance profile")) return;
  config::RejectUnknownKeys(row, keys, problems);
  const Node* in = config::Require(row, "in", problems);
  if (in == nullptr || !config::ExpectList(*in, problems, "the GPU instance profiles")) return;
  for (const std::uint64_t constant : config::ReadUnsigneds(*in, problems)) {
    const GiProfile* parent = FindProfile(board, constant);
    if (parent == nullptr) {
      problems.Add(*in, "no GPU instance profile has the constant " + std::to_string(constant));
      return;
    }
    CiProfile profile{};
    profile.gi_constant = parent->constant;
    profile.id = Column(row, "id", problems, kMaxCiProfiles - 1);
    profile.slice_count = Column(row, "slices", problems, parent->slice_count);
    profile.instance_count = Column(row, "count", problems, kMaxComputeInstances);
    profile.multiprocessors = Column(row, "sm", problems, parent->multiprocessors);
    profile.placement_count = ReadStarts(row, profile.slice_count, parent->slice_count, problems,
                                         profile.placement_starts);
    if (profile.instance_count == 0) problems.Add(row, "the count of a profile is at least 1");
    if (board.ci_profile_count == kMaxGiProfiles * 4) {
      problems.Add(row, "too many compute instance profiles");
      return;
    }
    board.ci_profiles[board.ci_profile_count++] = profile;
  }
}

// A table: its origin once, then the rows. Returns the rows, or null after a problem.
const Node* ReadTable(const Node& mig,
                      std::string_view key,
                      bool own_starts,
                      const std::vector<std::string>& sources,
                      Problems& problems) {
  static const std::vector<std::string> keys = {"source", "confidence", "starts_source",
                                                "starts_confidence", "profiles"};
  const Node* table = config::Require(mig, key, problems);
  if (table == nullptr || !config::ExpectMap(*table, problems, "a profile table")) return nullptr;
  config::RejectUnknownKeys(*table, keys, problems);
  CheckOrigin(*table, sources, "", problems);
  if (own_starts) CheckOrigin(*table, sources, "starts_", problems);
  const Node* rows = config::Require(*table, "profiles", problems);
  if (rows == nullptr || !config::ExpectList(*rows, problems, "the profiles")) return nullptr;
  return rows;
}

// A fact of the `mig:` map that is one of some words; 0 after a problem.
std::uint32_t WordFact(const Node& mig,
                       std::string_view key,
                       const std::vector<std::string>& words,
                       const std::vector<std::string>& sources,
                       Problems& problems) {
  const Node* fact = config::Require(mig, key, problems);
  const Node* value = fact == nullptr ? nullptr : CheckFact(*fact, sources, problems);
  if (value == nullptr) return 0;
  return static_cast<std::uint32_t>(config::ReadChoice(*value, problems, words).value_or(0));
}

std::uint32_t NumberFact(const Node& mig,
                         std::string_view key,
                         const std::vector<std::string>& sources,
                         Problems& problems) {
  const Node* fact = config::Require(mig, key, problems);
  const Node* value = fact == nullptr ? nullptr : CheckFact(*fact, sources, problems);
  if (value == nullptr) return 0;
  return static_cast<std::uint32_t>(
      config::ReadUnsigned(*value, problems, {1, kMaxSlices}).value_or(0));
}

}  // namespace

void ReadMig(const Node& mig,
             const std::vector<std::string>& sources,
             Problems& problems,
             Board& board) {
  static const std::vector<std::string> keys = {
      "activation",     "gi_numbering",  "max_devices",      "memory_slices",
      "compute_slices", "gpu_instances", "compute_instances"};
  if (!config::ExpectMap(mig, problems, "the MIG facts")) return;
  config::RejectUnknownKeys(mig, keys, problems);
  const std::uint32_t activation =
      WordFact(mig, "activation", {"reset", "immediate"}, sources, problems);
  board.mig_activation = activation == 0 ? MigActivation::kReset : MigActivation::kImmediate;
  const std::uint32_t numbering =
      WordFact(mig, "gi_numbering", {"right-half-first", "left-half-first"}, sources, problems);
  board.gi_numbering = numbering == 0 ? GiNumbering::kRightHalfFirst : GiNumbering::kLeftHalfFirst;
  board.max_mig_devices = NumberFact(mig, "max_devices", sources, problems);
  board.memory_slices = NumberFact(mig, "memory_slices", sources, problems);
  board.compute_slices = NumberFact(mig, "compute_slices", sources, problems);

  if (const Node* rows = ReadTable(mig, "gpu_instances", false, sources, problems)) {
    for (const Node& row : rows->items) {
      if (board.gi_profile_count == kMaxGiProfiles) {
        problems.Add(row, "too many GPU instance profiles");
        break;
      }
      ReadGiRow(row, problems, board);
    }
  }
  if (const Node* rows = ReadTable(mig, "compute_instances", true, sources, problems)) {
    for (const Node& row : rows->items) ReadCiRow(row, problems, board);
  }
}

}  // namespace partita::sim::load
