// Another reader of TOML judges ours: the same texts are good, with the same values.

// The judge asserts where it meets texts that are none, before it says so.
#define TOML_ASSERT(condition) static_cast<void>(0)
#include <toml++/toml.h>

#include <gtest/gtest.h>

#include <sstream>

#include "config/toml/samples.h"
#include "config/toml/toml.h"

namespace partita::config {
namespace {

bool SameScalar(const Node& ours, const toml::node& theirs) {
  if (const auto* text = theirs.as_string()) return ours.quoted && ours.text == text->get();
  if (ours.quoted) return false;
  if (const auto* flag = theirs.as_boolean()) return ours.text == (flag->get() ? "true" : "false");
  // Numbers and dates: read anew by the judge, from what we took them for.
  const toml::parse_result again = toml::parse("v = " + ours.text);
  return again.succeeded() && again.table()["v"].node()->type() == theirs.type() &&
         (theirs.is_floating_point() || *again.table().as_table() == toml::table{{"v", theirs}});
}

bool Same(const Node& ours, const toml::node& theirs) {
  if (const toml::table* table = theirs.as_table()) {
    if (!ours.IsMap() || ours.entries.size() != table->size()) return false;
    for (const auto& [key, value] : *table) {
      const Node* own = ours.Find(key.str());
      if (own == nullptr || !Same(*own, value)) return false;
    }
    return true;
  }
  if (const toml::array* list = theirs.as_array()) {
    if (!ours.IsList() || ours.items.size() != list->size()) return false;
    for (std::size_t i = 0; i < list->size(); ++i) {
      if (!Same(ours.items[i], (*list)[i])) return false;
    }
    return true;
  }
  return ours.IsScalar() && SameScalar(ours, theirs);
}

TEST(TomlJudge, FindsTheSameValues) {
  for (const std::string_view text : samples::kGoodToml) {
    const toml::parse_result theirs = toml::parse(text);
    ASSERT_TRUE(theirs.succeeded()) << text << "\n" << theirs.error().description();
    const base::Result<Toml> ours = Toml::Parse(std::string(text), "f.toml");
    ASSERT_TRUE(ours.ok()) << ours.error().ToString();
    EXPECT_TRUE(Same(ours->root(), theirs.table())) << text;
  }
}

TEST(TomlJudge, RefusesTheSameTexts) {
  for (const std::string_view text : samples::kBadToml)
    EXPECT_FALSE(toml::parse(text).succeeded()) << text;
}

// Every sample with one byte changed or left out: both read it as the same, or both refuse it.
TEST(TomlJudge, AgreesOnWhatIsNearlyRight) {
  constexpr std::string_view kBytes = "\"'=[]{}.,#\n 0ae_-+\\";
  const auto judge = [](const std::string& text) {
    const toml::parse_result theirs = toml::parse(text);
    const base::Result<Toml> ours = Toml::Parse(text, "f.toml");
    if (theirs.succeeded() != ours.ok()) return false;
    return !ours.ok() || Same(ours->root(), theirs.table());
  };
  for (const std::string_view sample : samples::kGoodToml) {
    for (std::size_t at = 0; at < sample.size(); ++at) {
      std::string without(sample);
      without.erase(at, 1);
      EXPECT_TRUE(judge(without)) << without;
      for (const char byte : kBytes) {
        std::string other(sample);
        other[at] = byte;
        EXPECT_TRUE(judge(other)) << other;
      }
    }
  }
}

}  // namespace
}  // namespace partita::config
