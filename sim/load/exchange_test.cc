#include "sim/load/exchange.h"

#include <string>

#include <gtest/gtest.h>

#include "sim/load/node_file.h"
#include "sim/load/pci_address.h"

namespace partita::sim::load {
namespace {

const Catalog& Facts() {
  static const Catalog catalog = Catalog::BuiltIn();
  return catalog;
}

std::unique_ptr<Machine> MachineOf(std::string_view profile) {
  auto node = LoadNode(*Facts().FindNode(profile), Facts(), "");
  EXPECT_TRUE(node.ok()) << node.error().ToString();
  return std::move(node->machine);
}

std::unique_ptr<Machine> PairOfA30() {
  auto node = LoadNode({"pair", "pair.yaml",
                        "driver: {version: 580.159.04, cuda: \"13.0\"}\nnvlink: pairs\ngpus:\n"
                        "  - {product: A30, pci: \"0000:01:00.0\"}\n"
                        "  - {product: A30, pci: \"0000:02:00.0\"}\n"},
                       Facts(), "");
  return node.ok() ? std::move(node->machine) : nullptr;
}

std::string Refusal(const Machine& machine, const NewBoard& board) {
  const auto exchanged = Exchange(machine, 0, board, Facts());
  if (exchanged.ok()) return "exchanged";
  const base::Error& error = exchanged.error();
  return error.hint().empty() ? error.ToString() : error.ToString() + " (" + error.hint() + ")";
}

TEST(Exchange, TheSlotStaysAndTheBoardIsAnother) {
  const auto before = MachineOf("dgx-a100-40");
  const auto after = Exchange(*before, 3, {"H100-80GB-HBM3", "", ""}, Facts());
  ASSERT_TRUE(after.ok()) << after.error().ToString();
  const Board& old = before->boards[3];
  const Board& board = (*after)->boards[3];
  EXPECT_STREQ(board.product, "H100-80GB-HBM3");
  EXPECT_EQ(board.mig_activation, MigActivation::kImmediate);
  EXPECT_STRNE(board.uuid, old.uuid);
  EXPECT_STRNE(board.serial, old.serial);
  EXPECT_TRUE(Same(board.pci, old.pci));
  EXPECT_EQ(board.bridge_count, 3U);
  EXPECT_TRUE(Same(board.bridges[2], old.bridges[2]));
  EXPECT_EQ(board.numa_node, 0);
  EXPECT_EQ(board.cpu_affinity[0], old.cpu_affinity[0]);
  EXPECT_EQ(board.minor, 3U);
  EXPECT_EQ(board.module_id.value, 2U);
  EXPECT_EQ(board.common_ancestor[2], old.common_ancestor[2]);
  EXPECT_EQ(board.link_count, 18U);  // an H100's, to the switches that are there
  EXPECT_EQ(board.links[0].remote, LinkRemote::kSwitch);
  EXPECT_STREQ((*after)->boards[2].uuid, before->boards[2].uuid);
}

TEST(Exchange, NamesDoNotRepeat) {
  const auto first = MachineOf("mixed");
  const auto second = Exchange(*first, 0, {"T4", "", ""}, Facts());
  ASSERT_TRUE(second.ok()) << second.error().ToString();
  const auto third = Exchange(**second, 0, {"T4", "", ""}, Facts());
  ASSERT_TRUE(third.ok()) << third.error().ToString();
  EXPECT_STRNE((*second)->boards[0].uuid, (*third)->boards[0].uuid);
  EXPECT_STRNE(first->boards[0].uuid, (*third)->boards[0].uuid);
}

TEST(Exchange, TheOldBoardCanBePutBack) {
  const auto first = MachineOf("mixed");
  const auto other = Exchange(*first, 0, {"A30", "", ""}, Facts());
  ASSERT_TRUE(other.ok()) << other.error().ToString();
  const Board& old = first->boards[0];
  const auto back = Exchange(**other, 0, {old.product, old.uuid, old.serial}, Facts());
  ASSERT_TRUE(back.ok()) << back.error().ToString();
  const Board& again = (*back)->boards[0];
  EXPECT_STREQ(again.product, old.product);
  EXPECT_STREQ(again.name, old.name);
  EXPECT_STREQ(again.uuid, old.uuid);
  EXPECT_STREQ(again.serial, old.serial);
  EXPECT_STREQ(again.part_number, old.part_number);
  EXPECT_STREQ(again.vbios, old.vbios);
  EXPECT_EQ(again.pci_device_id, old.pci_device_id);
  EXPECT_EQ(again.minor, old.minor);
  EXPECT_EQ(again.memory_total, old.memory_total);
  EXPECT_EQ(again.bar1_total.value, old.bar1_total.value);
  EXPECT_EQ(again.power_max_mw.value, old.power_max_mw.value);
  EXPECT_EQ(again.event_types, old.event_types);
  EXPECT_EQ(again.link_count, old.link_count);
  EXPECT_EQ(again.gi_profile_count, old.gi_profile_count);
}

TEST(Exchange, ABridgeJoinsEqualBoardsOnly) {
  const auto pair = PairOfA30();
  ASSERT_NE(pair, nullptr);
  ASSERT_EQ(pair->boards[0].link_count, 4U);
  const auto equal = Exchange(*pair, 1, {"A30", "", ""}, Facts());
  ASSERT_TRUE(equal.ok()) << equal.error().ToString();
  EXPECT_EQ((*equal)->boards[0].link_count, 4U);
  EXPECT_EQ((*equal)->boards[1].link_count, 4U);
  const auto other = Exchange(*pair, 1, {"T4", "", ""}, Facts());
  ASSERT_TRUE(other.ok()) << other.error().ToString();
  EXPECT_EQ((*other)->boards[0].link_count, 0U);
  EXPECT_EQ((*other)->boards[1].link_count, 0U);
}

TEST(Exchange, WhatCannotBeIsRefused) {
  const auto dgx = MachineOf("dgx-a100-40");
  EXPECT_EQ(Refusal(*dgx, {"H100", "", ""}), "unknown product \"H100\" (did you mean \"H200\"?)");
  EXPECT_EQ(
      Refusal(*dgx, {"V100-SXM2-16GB", "", ""}),
      "\"V100-SXM2-16GB\" is older than the open kernel modules drive (they begin with Turing: "
      "take a node with open_kernel_module: false)");
  EXPECT_EQ(Refusal(*dgx, {"A30", "GPU-1", ""}),
            "not a GPU UUID: \"GPU-1\" (write GPU- and 8-4-4-4-12 hex digits in lower case)");
  const std::string taken = dgx->boards[1].uuid;
  EXPECT_EQ(Refusal(*dgx, {"A30", taken, ""}), taken + " is a GPU of this node already");
  EXPECT_EQ(Refusal(*dgx, {"A30", "", std::string(32, '1')}),
            "the serial number is longer than 31 bytes");
}

TEST(Exchange, AMinorWithoutCapabilitiesTakesNoBoardWithMig) {
  auto node = LoadNode({"high", "high.yaml",
                        "driver: {version: 580.159.04, cuda: \"13.0\"}\ngpus:\n"
                        "  - {product: T4, pci: \"0000:01:00.0\", minor: 40}\n"},
                       Facts(), "");
  ASSERT_TRUE(node.ok()) << node.error().ToString();
  EXPECT_EQ(Refusal(*node->machine, {"A30", "", ""}),
            "minor 40 for a GPU that can do MIG (the driver numbers MIG capabilities for minors "
            "below 32)");
}

}  // namespace
}  // namespace partita::sim::load
