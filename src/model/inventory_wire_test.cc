#include "model/inventory_wire.h"

#include <concepts>
#include <optional>
#include <string>
#include <tuple>
#include <type_traits>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "base/json.h"
#include "model/testing/filler.h"
#include "model/testing/sample_inventories.h"

namespace partita::model {
namespace {

using base::ErrorCode;
using base::Value;

// As it arrives: through the text that goes over the socket.
base::Result<Inventory> ThereAndBack(const Inventory& inventory) {
  const auto value = base::ParseJson(base::ToJsonLine(ToWire(inventory)));
  PARTITA_CHECK(value.ok());
  return FromWire(*value);
}

void ExpectSurvives(const Inventory& inventory) {
  const base::Result<Inventory> direct = FromWire(ToWire(inventory));
  ASSERT_TRUE(direct.ok()) << direct.error().ToString();
  EXPECT_EQ(*direct, inventory);
  const base::Result<Inventory> back = ThereAndBack(inventory);
  ASSERT_TRUE(back.ok()) << back.error().ToString();
  EXPECT_EQ(*back, inventory);
}

TEST(InventoryWire, CarriesEverySample) {
  NodeReport (*const nodes[])() = {
      testing::H200Idle,   testing::DgxA100Mixed, testing::DgxA100Full,
      testing::FaultyNode, testing::VfioNode,     testing::MixedProducts,
      testing::NoDriver,   testing::HostileNames, testing::KubernetesNode};
  for (NodeReport (*node)() : nodes) {
    const NodeReport report = node();
    SCOPED_TRACE(report.host);
    ExpectSurvives(report.inventory);
  }
  ExpectSurvives({});
}

TEST(InventoryWire, CarriesEveryFieldOfEveryStruct) {
  Inventory inventory;
  testing::Filler().Fill(inventory);
  ASSERT_EQ(inventory.gpus.size(), 2U);
  ASSERT_TRUE(inventory.gpus[1].mig->instances[1].compute_instances[1].access);
  ExpectSurvives(inventory);
}

TEST(InventoryWire, CarriesTheEndsOfEveryRange) {
  Inventory inventory;
  inventory.generation = ~std::uint64_t{0};
  Gpu gpu;
  gpu.pci = {0xFFFFFFFF, 0xFF, 31, 7};
  gpu.numa_node = -1;
  gpu.readings.temperature = Celsius(-40);
  gpu.compute_mode = static_cast<ComputeMode>(77);  // a driver newer than this program
  gpu.serial = "";                                  // present and empty is not absent
  gpu.processes.emplace_back().pid = Pid(-1);
  gpu.processes[0].name = std::string("\xFF\0z\xC3", 4);
  inventory.gpus = {gpu};
  ExpectSurvives(inventory);
}

// Sets the value at a path; "" is any item of a list: the first.
Value Replaced(const Value& value, const std::vector<std::string>& path, const Value& with) {
  if (path.empty()) return with;
  const std::vector<std::string> rest(path.begin() + 1, path.end());
  if (value.kind() == Value::Kind::kList) {
    Value list = Value::List();
    for (const Value& item : value.items())
      list.Add(&item == &value.items().front() ? Replaced(item, rest, with) : item);
    return list;
  }
  Value map = value;
  const Value* member = value.Find(path[0]);
  map.Set(path[0], Replaced(member != nullptr ? *member : Value(), rest, with));
  return map;
}

struct Wrong {
  std::vector<std::string> path;
  Value with;
  const char* error;
};

TEST(InventoryWire, SaysWhereSomethingIsWrong) {
  const Value good = ToWire(testing::DgxA100Mixed().inventory);
  const Wrong wrongs[] = {
      {{}, Value("x"), "inventory: it is not a map"},
      {{"node"}, Value::List(), "inventory: node: it is not a map"},
      {{"more"}, Value(1U), "inventory: \"more\" is not known here"},
      {{"node", "gpus", "", "more"},
       Value(1U),
       "inventory: node: gpus: item 0: \"more\" is not known here"},
      {{"node", "gpus", "", "name"},
       Value(7U),
       "inventory: node: gpus: item 0: name: it is not a text"},
      {{"node", "gpus", "", "index"},
       Value(-1),
       "inventory: node: gpus: item 0: index: it is not a number from 0 to 4294967295"},
      {{"node", "gpus", "", "index"},
       Value(1.5),
       "inventory: node: gpus: item 0: index: it is not a whole number"},
      {{"node", "gpus", "", "persistence"},
       Value(1U),
       "inventory: node: gpus: item 0: persistence: it is not true or false"},
      {{"node", "gpus", "", "pci"},
       Value("here"),
       "inventory: node: gpus: item 0: pci: \"here\" is not a PCI address"},
      {{"node", "gpus", "", "faults"},
       Value::List().Add(Value::Map().Set("kind", 99U).Set("text", "")),
       "inventory: node: gpus: item 0: faults: item 0: kind: it is not a choice that is known "
       "here"},
      {{"node", "gpus", "", "mig_error"},
       Value::Map().Set("code", 1U),
       "inventory: node: gpus: item 0: mig_error: message is missing"},
      {{"node", "gpus", "", "vbios"},
       Value::Map().Set("bytes", "fq"),
       "inventory: node: gpus: item 0: vbios: it is not bytes in hex"},
      {{"node", "gpus", ""}, Value::Map(), "inventory: node: gpus: item 0: name is missing"},
      {{"node", "links"}, Value::Map(), "inventory: node: links: it is not a list"},
  };
  for (const Wrong& wrong : wrongs) {
    const auto read = FromWire(Replaced(good, wrong.path, wrong.with));
    ASSERT_FALSE(read.ok()) << wrong.error;
    EXPECT_EQ(read.error().ToString(), wrong.error);
    EXPECT_EQ(read.error().code(), ErrorCode::kInvalid);
  }
}

TEST(InventoryWire, RefusesAnotherVersionByName) {
  const auto other = FromWire(Value::Map().Set("version", 3U).Set("node", "of a later form"));
  EXPECT_EQ(other.error().ToString(), "an inventory of version 3, and 2 is known here");
  EXPECT_EQ(other.error().code(), ErrorCode::kUnsupported);
  EXPECT_EQ(FromWire(Value::Map()).error().ToString(),
            "an inventory of no version, and 2 is known here");
}

}  // namespace
}  // namespace partita::model
