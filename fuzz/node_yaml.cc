// Any bytes as a node file of the simulator: a machine within the limits of the state, or problems.
#include <string>

#include "fuzz/target.h"
#include "sim/load/catalog.h"
#include "sim/load/node_file.h"

FUZZ_TARGET(node_yaml) {
  using namespace partita::sim;
  static const load::Catalog catalog = load::Catalog::BuiltIn();
  const load::DataFile file = {"node", "node.yaml", std::string(partita::fuzz::AsText(data, size))};
  const auto node = load::LoadNode(file, catalog, "fuzz");
  if (!node.ok()) {
    PARTITA_CHECK(node.error().message().starts_with("node.yaml:"));
    return 0;
  }
  const Machine& machine = *node->machine;
  PARTITA_CHECK(machine.gpu_count <= kMaxGpus);
  PARTITA_CHECK(machine.switch_count <= kMaxSwitches);
  for (std::uint32_t i = 0; i < machine.gpu_count; ++i) {
    const Board& board = machine.boards[i];
    PARTITA_CHECK(board.bridge_count <= kMaxBridges && board.link_count <= kMaxLinks);
    PARTITA_CHECK(board.gi_profile_count <= kMaxGiProfiles);
    PARTITA_CHECK(board.name[sizeof board.name - 1] == '\0');
    PARTITA_CHECK(board.uuid[sizeof board.uuid - 1] == '\0');
  }
  return 0;
}
