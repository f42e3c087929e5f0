#include "hook/runtime/in_turn.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "base/json.h"

namespace partita::hook {
namespace {

using base::Value;

// Of hooks in JSON, their JSON.
std::string Joined(const std::string& hooks) {
  const std::vector<Value> items = base::ParseJson("[" + hooks + "]")->items();
  std::string lines;
  for (const Value& hook : InTurn(items, "/p")) lines += base::ToJsonLine(hook) + "\n";
  return lines;
}

std::string Hook(const std::string& words, const std::string& more = R"(,"env":["A=b"])") {
  return R"({"path":"/p","args":["nvidia-cdi-hook",)" + words + "]" + more + "}";
}

TEST(InTurn, NeighboursBecomeOne) {
  EXPECT_EQ(Joined(""), "");
  const std::string one = Hook(R"("a","--link","x::y")");
  EXPECT_EQ(Joined(one), one + "\n");
  EXPECT_EQ(Joined(one + "," + Hook(R"("b")") + "," + Hook(R"("c","")")),
            Hook(R"("in-turn","a","--link","x::y","--","b","--","c","")") + "\n");
}

TEST(InTurn, WhatALaterOneCoversIsLeftOut) {
  const std::string protect = Hook(R"("disable-device-node-modification")");
  const std::string restrict = Hook(R"("restrict-proc")"), a = Hook(R"("a")");
  EXPECT_EQ(Joined(a + "," + protect + "," + restrict),
            Hook(R"("in-turn","a","--","restrict-proc")") + "\n");
  EXPECT_EQ(Joined(protect + "," + restrict), restrict + "\n");
  EXPECT_EQ(Joined(restrict + "," + protect),
            Hook(R"("in-turn","restrict-proc","--","disable-device-node-modification")") + "\n");
  EXPECT_EQ(Joined(a + "," + protect),
            Hook(R"("in-turn","a","--","disable-device-node-modification")") + "\n");
}

TEST(InTurn, TheOrderStays) {
  const std::string other = R"({"path":"/other","args":["nvidia-cdi-hook","a"],"env":["A=b"]})";
  const std::string a = Hook(R"("a")"), b = Hook(R"("b")");
  EXPECT_EQ(Joined(a + "," + other + "," + b), a + "\n" + other + "\n" + b + "\n");
  EXPECT_EQ(Joined(other + "," + a + "," + b + "," + other),
            other + "\n" + Hook(R"("in-turn","a","--","b")") + "\n" + other + "\n");
}

TEST(InTurn, WhatWouldChangeItsMeaningStaysAlone) {
  const std::string a = Hook(R"("a")");
  for (const std::string& odd :
       {Hook(R"("b","--","c")"), Hook(R"("--debug","b")"), Hook(R"("in-turn","b")"),
        Hook(R"("b")", R"(,"env":["A=c"])"), Hook(R"("b")", R"(,"env":["A=b"],"timeout":5)"),
        Hook(R"("b")", ""), Hook(R"("b",7)"),
        std::string(R"({"path":"/p","args":["nvidia-cdi-hook"],"env":["A=b"]})"),
        std::string(R"({"path":"/p","args":["nvidia-ctk","hook"],"env":["A=b"]})"),
        std::string(R"({"path":"/p","env":["A=b"]})")}) {
    EXPECT_EQ(Joined(fmt::format("{0},{1},{0}", a, odd)), fmt::format("{0}\n{1}\n{0}\n", a, odd));
  }
}

}  // namespace
}  // namespace partita::hook
