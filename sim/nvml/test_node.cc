#include "sim/nvml/test_node.h"

#include <cstdio>
#include <cstdlib>

#include <filesystem>

#include "sim/load/catalog.h"
#include "sim/load/node_file.h"

namespace partita::sim::nvml {
namespace {

void Require(bool condition, const char* what) {
  if (condition) return;
  std::fprintf(stderr, "test node: %s\n", what);
  std::abort();
}

load::LoadedNode LoadProfile(std::string_view profile) {
  const load::Catalog catalog = load::Catalog::BuiltIn();
  const load::DataFile* file = catalog.FindNode(profile);
  Require(file != nullptr, "no such profile in data/nodes");
  auto node = load::LoadNode(*file, catalog, "");
  Require(node.ok(), "the profile does not load");
  return *std::move(node);
}

}  // namespace

TestNode::TestNode(std::string_view profile) {
  std::string pattern = (std::filesystem::temp_directory_path() / "partita-node-XXXXXX").string();
  Require(mkdtemp(pattern.data()) != nullptr, "no directory");
  root_ = pattern;
  std::filesystem::create_directories(root_ + "/sim");
  std::FILE* holders = std::fopen(holders_path().c_str(), "w");
  Require(holders != nullptr, "no holders file");
  std::fclose(holders);
  load::LoadedNode node = LoadProfile(profile);
  machine_ = std::move(node.machine);
  const std::string state = root_ + "/sim/state";
  Require(Create(state.c_str(), *machine_, *node.slot) == 0, "no state file");
  Require(Store::Open(state.c_str(), Access::kReadWrite, &store_) == 0, "the state does not open");
  setenv("PARTITA_SIM_STATE", state.c_str(), 1);
  setenv("PARTITA_SIM_VISIBILITY", "off", 1);
  Require(nvmlInit_v2() == NVML_SUCCESS, "nvmlInit_v2 failed");
}

TestNode::~TestNode() {
  nvmlShutdown();
  store_.Close();
  std::error_code ignored;
  std::filesystem::remove_all(root_, ignored);
}

nvmlDevice_t TestNode::gpu(unsigned int index) const {
  nvmlDevice_t device = nullptr;
  Require(nvmlDeviceGetHandleByIndex_v2(index, &device) == NVML_SUCCESS, "no such GPU");
  return device;
}

void TestNode::Begin(Transaction* transaction) {
  Require(Transaction::Begin(store_, transaction) == 0, "the state cannot be changed");
}

void TestNode::FreezeAt(uint64_t ns) {
  Change([ns](Slot& slot) {
    slot.clock.frozen = 1;
    slot.clock.base_ns = ns;
  });
}

}  // namespace partita::sim::nvml
