#include "config/named/named_configs.h"

#include <stdlib.h>

#include <filesystem>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "base/files.h"
#include "base/text.h"

namespace partita::config {
namespace {

Selection Selecting(std::string label,
                    std::string default_name,
                    std::vector<Fallback> fallback,
                    bool optional = false) {
  return {.label = std::move(label),
          .default_name = std::move(default_name),
          .fallback = std::move(fallback),
          .optional = optional,
          .source = "/d",
          .label_key = "nvidia.com/device-plugin.config"};
}

std::string Chosen(const std::vector<std::string>& available, const Selection& selection) {
  const auto choice = Choose(available, selection);
  if (!choice.ok()) return "no";
  return std::string(ToString(choice->by)) + ":" + choice->name;
}

// The rule once more, as the reference's documents have it, in words of this test alone.
std::string Expected(const std::vector<std::string>& available, const Selection& selection) {
  const auto there = [&](const std::string& name) {
    for (const std::string& each : available)
      if (each == name) return true;
    return false;
  };
  if (selection.label != "") return there(selection.label) ? "label:" + selection.label : "no";
  if (selection.default_name != "")
    return there(selection.default_name) ? "default:" + selection.default_name : "no";
  for (const Fallback each : selection.fallback) {
    if (each == Fallback::kNamed && there("default")) return "fallback named:default";
    if (each == Fallback::kSingle && available.size() == 1)
      return "fallback single:" + available[0];
    if (each == Fallback::kEmpty) return "fallback empty:";
  }
  return available.empty() && selection.optional ? "nobody:" : "no";
}

// Every set of available names, every label, every default and every order of fallbacks.
TEST(NamedConfigs, AreChosenAsTheTableSays) {
  const std::vector<std::vector<std::string>> sets = {
      {}, {"a"}, {"default"}, {"a", "b"}, {"a", "default"}, {"a", "b", "default"}};
  using enum Fallback;
  const std::vector<std::vector<Fallback>> orders = {{},
                                                     {kNamed},
                                                     {kSingle},
                                                     {kEmpty},
                                                     {kNamed, kSingle},
                                                     {kSingle, kNamed},
                                                     {kNamed, kEmpty},
                                                     {kEmpty, kNamed},
                                                     {kSingle, kEmpty},
                                                     {kEmpty, kSingle},
                                                     {kNamed, kSingle, kEmpty},
                                                     {kNamed, kEmpty, kSingle},
                                                     {kSingle, kNamed, kEmpty},
                                                     {kSingle, kEmpty, kNamed},
                                                     {kEmpty, kNamed, kSingle},
                                                     {kEmpty, kSingle, kNamed}};
  std::size_t cases = 0;
  for (const auto& available : sets) {
    for (const char* label : {"", "a", "b", "default", "x"}) {
      for (const char* default_name : {"", "a", "b", "default", "x"}) {
        for (const auto& fallback : orders) {
          for (const bool optional : {false, true}) {
            const Selection selection = Selecting(label, default_name, fallback, optional);
            EXPECT_EQ(Chosen(available, selection), Expected(available, selection))
                << base::Join(available, " ") << "; label " << label << ", default "
                << default_name;
            ++cases;
          }
        }
      }
    }
  }
  EXPECT_EQ(cases, 6U * 5 * 5 * 16 * 2);
}

// Lines of the table that a reader can check by eye.
TEST(NamedConfigs, LabelBeforeDefaultBeforeFallbacks) {
  using enum Fallback;
  EXPECT_EQ(Chosen({"a", "b", "default"}, Selecting("a", "b", {kNamed})), "label:a");
  EXPECT_EQ(Chosen({"a", "b", "default"}, Selecting("", "b", {kNamed})), "default:b");
  EXPECT_EQ(Chosen({"a", "b", "default"}, Selecting("", "", {kNamed, kSingle})),
            "fallback named:default");
  EXPECT_EQ(Chosen({"a"}, Selecting("", "", {kNamed, kSingle})), "fallback single:a");
  EXPECT_EQ(Chosen({"a", "b"}, Selecting("", "", {kNamed, kSingle})), "no");
  EXPECT_EQ(Chosen({"a", "b"}, Selecting("", "", {kSingle, kEmpty})), "fallback empty:");
  EXPECT_EQ(Chosen({}, Selecting("", "", {kNamed, kSingle}, true)), "nobody:");
  EXPECT_EQ(Chosen({}, Selecting("a", "", {kNamed, kSingle}, true)), "no");
  EXPECT_EQ(Chosen({"a"}, Selecting("x", "a", {kSingle, kEmpty})), "no");
}

std::string Refused(const std::vector<std::string>& available, const Selection& selection) {
  const auto choice = Choose(available, selection);
  if (choice.ok()) return "";
  return choice.error().ToString() + " | " + choice.error().hint();
}

TEST(NamedConfigs, SayWhyNoneIsChosen) {
  EXPECT_EQ(Refused({"ts4", "whole"}, Selecting("tz4", "", {})),
            "node label nvidia.com/device-plugin.config: no configuration in /d is called "
            "\"tz4\" | did you mean \"ts4\"?");
  EXPECT_EQ(Refused({"ts4", "whole"}, Selecting("mixed-strategy", "", {})),
            "node label nvidia.com/device-plugin.config: no configuration in /d is called "
            "\"mixed-strategy\" | there are: ts4, whole");
  EXPECT_EQ(Refused({}, Selecting("ts4", "", {})),
            "node label nvidia.com/device-plugin.config: no configuration in /d is called "
            "\"ts4\" | there is none at all");
  Selection by_default = Selecting("", "gone", {});
  by_default.default_where = "c.yaml:4:12";
  EXPECT_EQ(Refused({"ts4", "whole"}, by_default),
            "c.yaml:4:12: devicePlugin.default: no configuration in /d is called \"gone\" | there "
            "are: ts4, whole");
  EXPECT_EQ(Refused({"ts4", "whole"}, Selecting("", "", {Fallback::kNamed, Fallback::kSingle})),
            "nothing says which configuration of /d is meant: ts4 or whole | set the label "
            "nvidia.com/device-plugin.config of this node, or devicePlugin.default");
  EXPECT_EQ(Refused({}, Selecting("", "", {Fallback::kNamed})),
            "there is no configuration in /d | put one there");
}

TEST(NamedConfigs, FallbacksAreWords) {
  EXPECT_TRUE(ParseFallbacks("")->empty());
  EXPECT_EQ(*ParseFallbacks("named,single"), (std::vector{Fallback::kNamed, Fallback::kSingle}));
  EXPECT_EQ(*ParseFallbacks("empty, named"), (std::vector{Fallback::kEmpty, Fallback::kNamed}));
  const auto unknown = ParseFallbacks("named,first");
  ASSERT_FALSE(unknown.ok());
  EXPECT_EQ(unknown.error().ToString(), "\"first\" is no fallback strategy");
  EXPECT_EQ(unknown.error().hint(), "known are named, single, empty");
}

// As kubelet mounts a ConfigMap: links through ..data.
TEST(NamedConfigs, AreTheFilesOfAFolder) {
  std::string pattern = std::filesystem::temp_directory_path() / "partita-named-XXXXXX";
  const std::filesystem::path folder = mkdtemp(pattern.data());
  std::filesystem::create_directory(folder / "..1");
  std::filesystem::create_directory(folder / "sub");
  for (const char* name : {"whole", "ts4"}) {
    ASSERT_TRUE(base::WriteFile(folder / "..1" / name, "version: v1\n", 0644).ok());
    std::filesystem::create_symlink(std::filesystem::path("..data") / name, folder / name);
  }
  std::filesystem::create_directory_symlink("..1", folder / "..data");
  std::filesystem::create_symlink("nowhere", folder / "dangling");
  EXPECT_EQ(*ConfigNames(folder), (std::vector<std::string>{"dangling", "ts4", "whole"}));
  EXPECT_EQ(ConfigNames(folder / "absent").error().code(), base::ErrorCode::kNotFound);
  ASSERT_TRUE(base::RemoveTree(folder).ok());
}

}  // namespace
}  // namespace partita::config
