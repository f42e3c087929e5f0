#include "oci/state.h"

#include <gtest/gtest.h>

namespace partita::oci {
namespace {

std::string Told(std::string_view json) {
  const base::Result<State> state = ParseState(json);
  return state.ok() ? "(no error)" : state.error().ToString();
}

TEST(OciState, TakesWhatItKnowsAndNoMore) {
  const State state = *ParseState(
      R"({"ociVersion":"1.0.2","id":"c1","status":"creating","pid":42,"bundle":"/b","root":"/b/rootfs","future":[1]})");
  EXPECT_EQ(state.id, "c1");
  EXPECT_EQ(state.pid, 42);
  EXPECT_EQ(state.bundle, "/b");
  EXPECT_EQ(state.root, "/b/rootfs");
}

TEST(OciState, TheOldNameOfTheBundleServes) {
  EXPECT_EQ(ParseState(R"({"bundlePath":"/old"})")->bundle, "/old");
  EXPECT_EQ(ParseState(R"({"bundlePath":"/old","bundle":"/new"})")->bundle, "/new");
}

TEST(OciState, SaysWhatIsWrong) {
  EXPECT_EQ(Told("[]"), "the container's state: it is no JSON object");
  EXPECT_EQ(Told(R"({"pid":"1"})"), "the container's state: \"pid\" is no process number");
  EXPECT_EQ(Told(R"({"pid":-1})"), "the container's state: \"pid\" is no process number");
  EXPECT_EQ(Told(R"({"pid":4194305})"), "the container's state: \"pid\" is no process number");
  EXPECT_EQ(Told(R"({"bundle":7})"), "the container's state: \"bundle\" is no text");
  EXPECT_NE(Told("").find("the container's state: "), std::string::npos);
}

TEST(OciRootPath, IsThatOfTheConfiguration) {
  EXPECT_EQ(*ParseRootPath(R"({"process":{},"root":{"path":"rootfs","readonly":true}})"), "rootfs");
  EXPECT_EQ(ParseRootPath("{}").error().ToString(), "it has no \"root\"");
  EXPECT_EQ(ParseRootPath(R"({"root":{}})").error().ToString(), "\"root\" has no \"path\"");
  EXPECT_EQ(ParseRootPath(R"({"root":{"path":1}})").error().ToString(),
            "\"root\": \"path\" is no text");
}

}  // namespace
}  // namespace partita::oci
