#include "oci/spec.h"

#include <gtest/gtest.h>

#include "base/json.h"

namespace partita::oci {
namespace {

using base::Value;

// As runc writes it: tabs, and members that we know nothing of.
constexpr std::string_view kRunc = R"({
	"ociVersion": "1.0.2-dev",
	"process": {
		"terminal": true,
		"user": { "uid": 0,	"gid": 0 },
		"args": ["sh"],
		"env": [
			"PATH=/usr/bin",
			"TERM=xterm"
		],
		"capabilities": { "bounding": ["CAP_AUDIT_WRITE", "CAP_KILL"] }
	},
	"root": { "path": "rootfs", "readonly": true },
	"mounts": [
		{ "destination": "/proc", "type":"proc", "source": "proc", "future": 1.50 },
		{ "destination": "/dev", "type": "tmpfs", "source": "tmpfs" }
	],
	"linux": {
		"fooNew": { "a": [ ] },
		"resources": { "devices": [ { "allow": false, "access": "rwm" } ] },
		"namespaces": [ { "type": "pid" }, { "type": "mount" } ]
	}
}
)";

Spec Parsed(std::string_view text) {
  base::Result<Spec> spec = Spec::Parse(std::string(text));
  EXPECT_TRUE(spec.ok()) << spec.error().ToString();
  return *std::move(spec);
}

// As a value, so that the order of members is seen and their layout is not.
Value After(const Spec& spec) {
  base::Result<Value> value = base::ParseJson(spec.Text());
  EXPECT_TRUE(value.ok()) << spec.Text();
  return *std::move(value);
}

std::string Line(const Spec& spec) { return base::ToJsonLine(After(spec)); }

TEST(OciSpec, UntouchedIsByteIdentical) {
  const Spec spec = Parsed(kRunc);
  EXPECT_FALSE(spec.edited());
  EXPECT_EQ(spec.Text(), kRunc);
}

TEST(OciSpec, UnknownFieldsStay) {
  Spec spec = Parsed(kRunc);
  spec.SetEnv("A", "b");
  spec.AllowDevice('c', 195, 0, "rw");
  EXPECT_TRUE(spec.edited());
  const std::string text = spec.Text();
  for (const char* kept :
       {R"("fooNew": { "a": [ ] })", R"("user": { "uid": 0,	"gid": 0 })",
        R"({ "allow": false, "access": "rwm" })", "\"terminal\": true",
        R"({ "destination": "/proc", "type":"proc", "source": "proc", "future": 1.50 })"})
    EXPECT_NE(text.find(kept), std::string::npos) << kept << "\n" << text;
  const Value after = After(spec);
  EXPECT_EQ(base::ToJsonLine(*after.Find("process")->Find("env")),
            R"(["PATH=/usr/bin","TERM=xterm","A=b"])");
  EXPECT_EQ(base::ToJsonLine(*after.Find("linux")->Find("resources")->Find("devices")),
            R"([{"allow":false,"access":"rwm"},)"
            R"({"allow":true,"type":"c","major":195,"minor":0,"access":"rw"}])");
}

TEST(OciSpec, LastEnvWins) {
  const Spec spec = Parsed(R"({"process":{"env":["A=all","B=x=y","A=1","AA=2"]}})");
  EXPECT_EQ(spec.Env("A"), "1");
  EXPECT_EQ(spec.Env("B"), "x=y");
  EXPECT_EQ(spec.Env("C"), std::nullopt);
  EXPECT_EQ(spec.env().size(), 4u);
}

TEST(OciSpec, BadEnvEntryIsIgnored) {
  Spec spec = Parsed(R"({"process":{"env":["A","=x","B=1"]}})");
  EXPECT_EQ(spec.Env("A"), std::nullopt);
  EXPECT_EQ(spec.Env(""), std::nullopt);
  spec.SetEnv("A", "2");
  EXPECT_EQ(Line(spec), R"({"process":{"env":["A","=x","B=1","A=2"]}})");
}

TEST(OciSpec, SetsAVariableWhereItStands) {
  Spec spec = Parsed(R"({"process":{"env":["A=all","B=1","A=2"]}})");
  spec.SetEnv("A", "void");
  EXPECT_EQ(Line(spec), R"({"process":{"env":["A=void","B=1","A=void"]}})");
  EXPECT_EQ(spec.Env("A"), "void");
  Spec same = Parsed(R"({"process":{"env":["A=1"]}})");
  same.SetEnv("A", "1");
  EXPECT_FALSE(same.edited());
}

TEST(OciSpec, MakesWhatIsMissing) {
  for (const char* empty : {"{}", R"({"process":null,"linux":null,"hooks":null})"}) {
    Spec spec = Parsed(empty);
    spec.SetEnv("A", "b");
    spec.AddGid(44);
    spec.AllowDevice('c', 1, 2, "rwm");
    spec.PutDevice(Value::Map().Set("path", "/dev/x"));
    spec.AddHook("createContainer", Value::Map().Set("path", "/h"));
    spec.SetNetDevice("eth0", Value::Map().Set("name", "net1"));
    spec.SetIntelRdt(Value::Map().Set("closID", "x"));
    spec.SetMounts({{"", Value::Map().Set("destination", "/a")}});
    const Value after = After(spec);
    EXPECT_EQ(base::ToJsonLine(*after.Find("process")),
              R"({"env":["A=b"],"user":{"additionalGids":[44]}})");
    EXPECT_EQ(base::ToJsonLine(*after.Find("hooks")), R"({"createContainer":[{"path":"/h"}]})");
    EXPECT_EQ(base::ToJsonLine(*after.Find("mounts")), R"([{"destination":"/a"}])");
    EXPECT_EQ(base::ToJsonLine(*after.Find("linux")),
              R"({"devices":[{"path":"/dev/x"}],"intelRdt":{"closID":"x"},)"
              R"("netDevices":{"eth0":{"name":"net1"}},"resources":{"devices":)"
              R"([{"allow":true,"type":"c","major":1,"minor":2,"access":"rwm"}]}})");
  }
}

TEST(OciSpec, ANetDevicesNameMayHoldADot) {
  Spec spec = Parsed(R"({"linux":{"netDevices":{"a.b":{"name":"old"},"c":{}}}})");
  spec.SetNetDevice("a.b", Value::Map().Set("name", "new"));
  EXPECT_EQ(Line(spec), R"({"linux":{"netDevices":{"a.b":{"name":"new"},"c":{}}}})");
}

TEST(OciSpec, PutsADeviceInThePlaceOfItsTwin) {
  Spec spec = Parsed(R"({"linux":{"devices":[{"path":"/dev/a","major":1},{"path":"/dev/b"}]}})");
  spec.PutDevice(Value::Map().Set("path", "/dev/a").Set("major", 2));
  EXPECT_EQ(Line(spec), R"({"linux":{"devices":[{"path":"/dev/b"},{"path":"/dev/a","major":2}]}})");
}

TEST(OciSpec, RulesAreNotRepeatedAndNeverEmpty) {
  Spec spec = Parsed("{}");
  spec.AllowDevice('c', 195, 0, "");
  EXPECT_FALSE(spec.edited());
  for (int i = 0; i < 2; ++i) spec.AllowDevice('c', 195, 0, "rw");
  EXPECT_EQ(Line(spec), R"({"linux":{"resources":{"devices":)"
                        R"([{"allow":true,"type":"c","major":195,"minor":0,"access":"rw"}]}}})");
}

TEST(OciSpec, WhatWasAddedBeforeIsNotAddedAgain) {
  const Value hook = Value::Map().Set("path", "/bin/x").Set("env", Value::List().Add("A=b"));
  // Two of one edit stay two: of two devices, each has its own.
  const auto edit = [&](Spec& spec) {
    for (int i = 0; i < 2; ++i) spec.AddHook("createContainer", hook);
    spec.AllowDevice('c', 195, 0, "rw");
  };
  Spec spec = Parsed(kRunc);
  edit(spec);
  EXPECT_EQ(spec.hooks("createContainer").size(), 2U);
  const std::string once = spec.Text();
  Spec again = Parsed(once);
  edit(again);
  EXPECT_EQ(again.Text(), once);
  again.AddHook("createContainer", hook);
  again.AddHook("prestart", hook);
  EXPECT_EQ(again.hooks("createContainer").size(), 3U);
  EXPECT_EQ(again.hooks("prestart").size(), 1U);
}

TEST(OciSpec, ARuleThatALaterOneTakesBackIsRepeated) {
  Spec spec =
      Parsed(R"({"linux":{"resources":{"devices":[{"allow":true,"type":"c","major":195,"minor":0,)"
             R"("access":"rw"},{"allow":false,"access":"rwm"}]}}})");
  spec.AllowDevice('c', 195, 0, "rw");
  EXPECT_EQ(spec.Text(),
            R"({"linux":{"resources":{"devices":[{"allow":true,"type":"c","major":195,"minor":0,)"
            R"("access":"rw"},{"allow":false,"access":"rwm"},{"allow":true,"type":"c","major":195,)"
            R"("minor":0,"access":"rw"}]}}})");
}

TEST(OciSpec, GroupsAreNeitherRootNorTwice) {
  Spec spec = Parsed(R"({"process":{"user":{"uid":5,"additionalGids":[10]}}})");
  spec.AddGid(0);
  spec.AddGid(10);
  EXPECT_FALSE(spec.edited());
  spec.AddGid(44);
  spec.AddGid(44);
  EXPECT_EQ(Line(spec), R"({"process":{"user":{"uid":5,"additionalGids":[10,44]}}})");
}

TEST(OciSpec, RemovesHooks) {
  Spec spec = Parsed(R"({"hooks":{"prestart":[{"path":"/a"},{"path":"/b", "x":1}]}})");
  const auto is = [](const std::string& path) {
    return [path](const Value& hook) { return hook.Find("path")->AsString() == path; };
  };
  EXPECT_FALSE(spec.RemoveHooks("prestart", is("/c")));
  EXPECT_FALSE(spec.RemoveHooks("poststop", is("/a")));
  EXPECT_FALSE(spec.edited());
  EXPECT_TRUE(spec.RemoveHooks("prestart", is("/a")));
  EXPECT_EQ(spec.Text(), R"({"hooks":{"prestart":[{"path":"/b", "x":1}]}})");
  EXPECT_EQ(spec.hooks("prestart").size(), 1u);
  EXPECT_TRUE(Spec::IsHookList("poststop"));
  EXPECT_FALSE(Spec::IsHookList("mounts"));
}

TEST(OciSpec, ReplacesTheLastHooks) {
  Spec spec =
      Parsed(R"({"hooks":{"prestart":[{"path":"/a", "x":1},{"path":"/b"},{"path":"/c"}]}})");
  spec.ReplaceHooks("prestart", 1, std::vector{Value::Map().Set("path", "/d")});
  EXPECT_EQ(spec.Text(), R"({"hooks":{"prestart":[{"path":"/a", "x":1},{"path":"/d"}]}})");
}

TEST(OciSpec, TellsWhatItIsAskedFor) {
  const Spec spec = Parsed(kRunc);
  EXPECT_EQ(spec.root_path(), "rootfs");
  EXPECT_FALSE(spec.has_user_namespace());
  EXPECT_FALSE(spec.privileged());
  EXPECT_EQ(spec.uid(), 0u);
  const Spec other = Parsed(
      R"({"process":{"user":{"uid":1000,"gid":4294967295},"capabilities":{"bounding":["CAP_SYS_ADMIN"]}},)"
      R"("annotations":{"b":"2","a":"1"},"linux":{"namespaces":[{"type":"user"}]}})");
  EXPECT_EQ(other.uid(), 1000u);
  EXPECT_EQ(other.gid(), 4294967295u);
  EXPECT_TRUE(other.has_user_namespace());
  EXPECT_TRUE(other.privileged());
  EXPECT_EQ(other.annotations(),
            (std::vector<std::pair<std::string, std::string>>{{"a", "1"}, {"b", "2"}}));
  EXPECT_EQ(other.root_path(), "");
}

TEST(OciSpec, IsPrivilegedByTheBoundingSetAlone) {
  EXPECT_FALSE(Parsed(R"({"process":{"capabilities":{"effective":["CAP_SYS_ADMIN"],)"
                      R"("permitted":["CAP_SYS_ADMIN"],"bounding":[]}}})")
                   .privileged());
  EXPECT_TRUE(Parsed(R"({"process":{"capabilities":["CAP_KILL","CAP_SYS_ADMIN"]}})").privileged());
  EXPECT_FALSE(Parsed(R"({"process":{"capabilities":["CAP_KILL"]}})").privileged());
  EXPECT_FALSE(Parsed("{}").privileged());
}

TEST(OciSpec, SaysWhatIsMalformed) {
  struct Case {
    const char* text;
    const char* message;
  };
  const Case cases[] = {
      {"[]", "config.json: the document is no JSON object"},
      {R"({"process":[]})", "config.json: process is no map"},
      {R"({"process":{"user":1}})", "config.json: process.user is no map"},
      {R"({"process":{"env":{}}})", "config.json: process.env is no list"},
      {R"({"process":{"env":["A=b",7]}})", "config.json: process.env[1] is no text"},
      {R"({"process":{"user":{"uid":-1}}})",
       "config.json: process.user.uid is no number of a user or group"},
      {R"({"process":{"user":{"gid":4294967296}}})",
       "config.json: process.user.gid is no number of a user or group"},
      {R"({"process":{"user":{"additionalGids":["x"]}}})",
       "config.json: process.user.additionalGids[0] is no number of a group"},
      {R"({"root":{"path":1}})", "config.json: root.path is no text"},
      {R"({"mounts":{}})", "config.json: mounts is no list"},
      {R"({"mounts":["/x"]})", "config.json: mounts[0] is no map"},
      {R"({"mounts":[{"destination":1}]})", "config.json: mounts[0].destination is no text"},
      {R"({"annotations":{"a":1}})", "config.json: the annotation \"a\" is no text"},
      {R"({"hooks":{"prestart":{}}})", "config.json: hooks.prestart is no list"},
      {R"({"linux":{"resources":[]}})", "config.json: linux.resources is no map"},
      {R"({"linux":{"namespaces":[{"type":1}]}})",
       "config.json: linux.namespaces[0].type is no text"},
  };
  for (const Case& each : cases) {
    const base::Result<Spec> spec = Spec::Parse(each.text);
    ASSERT_FALSE(spec.ok()) << each.text;
    EXPECT_EQ(spec.error().code(), base::ErrorCode::kInvalid);
    EXPECT_EQ(spec.error().ToString(), each.message);
  }
  EXPECT_TRUE(Spec::Parse("{").error().ToString().starts_with("config.json: no valid JSON"));
  EXPECT_FALSE(Spec::Parse(R"({"process":{},"process":{}})").ok());
}

}  // namespace
}  // namespace partita::oci
