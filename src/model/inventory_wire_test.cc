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
#include "model/inventory_fields.h"
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

// Gives every field of a struct, and of those in it, a value that is neither its default nor that
// of a neighbour. The tables are complete (inventory_fields.h), so this is.
class Filler {
 public:
  template <HasFields T>
  void Fill(T& value) {
    std::apply([&](const auto&... field) { (Fill(value.*field.member), ...); }, kFields<T>);
  }
  void Fill(bool& value) { value = !value; }
  template <std::integral T>
  void Fill(T& value) {
    value = static_cast<T>(++last_);
  }
  template <typename T>
  requires std::is_enum_v<T>
  void Fill(T& value) { value = static_cast<T>(1); }
  void Fill(std::string& value) { value = fmt::format("text {}", ++last_); }
  template <typename Tag, typename T>
  void Fill(base::Strong<Tag, T>& value) {
    T inner{};
    Fill(inner);
    value = base::Strong<Tag, T>(inner);
  }
  void Fill(PciAddress& value) { value = {++last_, 0xFE, 31, 7}; }
  void Fill(base::Error& value) {
    base::NativeCode native{};
    base::SourcePosition position;
    Fill(native);
    Fill(position);
    value = base::Error(ErrorCode::kResetRequired, fmt::format("message {}", ++last_))
                .Within("inner")
                .Within("outer")
                .At(position)
                .WithNative(native)
                .WithHint("one\ntwo");
  }
  template <typename T>
  void Fill(std::optional<T>& value) {
    value.emplace(Blank<T>());
    Fill(*value);
  }
  template <typename T>
  void Fill(std::vector<T>& value) {
    for (int i = 0; i < 2; ++i) Fill(value.emplace_back(Blank<T>()));
  }

 private:
  template <typename T>
  static T Blank() {
    if constexpr (std::same_as<T, base::Error>) {
      return base::Error(ErrorCode::kInternal, "");
    } else if constexpr (std::same_as<T, Problem>) {
      return {"", Blank<base::Error>()};
    } else {
      return T{};
    }
  }
  std::uint32_t last_ = 0;
};

TEST(InventoryWire, CarriesEveryFieldOfEveryStruct) {
  Inventory inventory;
  Filler().Fill(inventory);
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
  const auto other = FromWire(Value::Map().Set("version", 2U).Set("node", "of a later form"));
  EXPECT_EQ(other.error().ToString(), "an inventory of version 2, and 1 is known here");
  EXPECT_EQ(other.error().code(), ErrorCode::kUnsupported);
  EXPECT_EQ(FromWire(Value::Map()).error().ToString(),
            "an inventory of no version, and 1 is known here");
}

}  // namespace
}  // namespace partita::model
