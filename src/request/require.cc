#include "request/require.h"

#include <algorithm>
#include <array>
#include <compare>

#include <fmt/format.h>

#include "base/characters.h"
#include "base/text.h"

namespace partita::request {
namespace {

using base::ErrorCode;
using base::MakeError;

enum class Sort : std::uint8_t { kVersion, kWord };
struct Property {
  std::string_view name;
  Sort sort;
  std::optional<std::string> Properties::*member;
};
constexpr std::array kProperties = {
    Property{"cuda", Sort::kVersion, &Properties::cuda},
    Property{"driver", Sort::kVersion, &Properties::driver},
    Property{"arch", Sort::kVersion, &Properties::arch},
    Property{"brand", Sort::kWord, &Properties::brand},
};

const Property* FindProperty(std::string_view name) {
  for (const Property& row : kProperties) {
    if (row.name == name) return &row;
  }
  return nullptr;
}

// Longest first.
constexpr std::array<std::string_view, 6> kOperators = {"!=", "<=", ">=", "=", "<", ">"};

using base::IsDigit;

bool IsVersion(std::string_view text) {
  const std::vector<std::string_view> parts = base::Split(text, '.');
  return std::all_of(parts.begin(), parts.end(), [](std::string_view part) {
    return !part.empty() && std::all_of(part.begin(), part.end(), IsDigit);
  });
}

// Numbers of any length, without leading zeros; trailing ".0" say nothing.
std::vector<std::string_view> Numbers(std::string_view version) {
  std::vector<std::string_view> numbers = base::Split(version, '.');
  for (std::string_view& number : numbers)
    number.remove_prefix(std::min(number.find_first_not_of('0'), number.size()));
  while (!numbers.empty() && numbers.back().empty()) numbers.pop_back();
  return numbers;
}

std::strong_ordering CompareVersions(std::string_view left, std::string_view right) {
  const std::vector<std::string_view> lefts = Numbers(left), rights = Numbers(right);
  return std::lexicographical_compare_three_way(
      lefts.begin(), lefts.end(), rights.begin(), rights.end(),
      [](std::string_view a, std::string_view b) -> std::strong_ordering {
        if (const auto by_length = a.size() <=> b.size(); by_length != 0) return by_length;
        return a.compare(b) <=> 0;
      });
}

bool Holds(std::strong_ordering order, std::string_view op) {
  if (op == "=") return order == 0;
  if (op == "!=") return order != 0;
  if (op == "<") return order < 0;
  if (op == "<=") return order <= 0;
  return op == ">" ? order > 0 : order >= 0;
}

bool IsSatisfied(const Term& term, const Property& property, const Properties& gpu) {
  const std::optional<std::string>& value = gpu.*property.member;
  if (!value) return true;
  if (property.sort == Sort::kWord)
    return (base::ToLower(*value) == base::ToLower(term.value)) == (term.op == "=");
  return Holds(CompareVersions(*value, term.value), term.op);
}

bool IsSatisfied(const Requirement& requirement, const Properties& gpu) {
  bool says_something = false;
  for (const std::vector<Term>& all_of : requirement.any_of) {
    bool counts = false, satisfied = true;
    for (const Term& term : all_of) {
      const Property* property = FindProperty(term.property);
      if (property == nullptr) continue;
      counts = true;
      satisfied = satisfied && IsSatisfied(term, *property, gpu);
    }
    if (counts && satisfied) return true;
    says_something = says_something || counts;
  }
  return !says_something;
}

base::Error Malformed(std::string_view term, std::string_view why) {
  return MakeError(ErrorCode::kInvalid, "malformed requirement {}: {}", base::Quoted(term), why)
      .WithHint("write it like cuda>=12.4 or brand=tesla; NVIDIA_DISABLE_REQUIRE=1 skips them all");
}

base::Result<Term> ParseTerm(std::string_view text) {
  const std::size_t end = text.find_first_of("<>=!");
  if (end == std::string_view::npos) return Malformed(text, "it has no operator");
  if (end == 0) return Malformed(text, "it has no property");
  Term term{base::ToLower(text.substr(0, end)), "", ""};
  for (const std::string_view op : kOperators) {
    if (!text.substr(end).starts_with(op)) continue;
    term.op = op;
    break;
  }
  if (term.op.empty()) return Malformed(text, "it has no operator");
  term.value = text.substr(end + term.op.size());
  const Property* property = FindProperty(term.property);
  if (property == nullptr) return term;
  if (property->sort == Sort::kVersion && !IsVersion(term.value))
    return Malformed(text, "its value is no version");
  if (property->sort == Sort::kWord && (term.value.empty() || (term.op != "=" && term.op != "!=")))
    return Malformed(text, "a brand can only be, or not be, one");
  return term;
}

std::string ToText(const std::vector<Term>& terms) {
  std::vector<std::string> texts;
  texts.reserve(terms.size());
  for (const Term& term : terms) texts.push_back(term.property + term.op + term.value);
  return base::Join(texts, ",");
}

}  // namespace

base::Result<Requirement> ParseRequirement(std::string_view text) {
  Requirement requirement{{}, std::string(text)};
  for (const std::string_view word : base::SplitWords(text)) {
    std::vector<Term> all_of;
    for (const std::string_view piece : base::Split(word, ',')) {
      if (piece.empty()) continue;
      TRY(term, ParseTerm(piece));
      all_of.push_back(std::move(term));
    }
    if (!all_of.empty()) requirement.any_of.push_back(std::move(all_of));
  }
  return requirement;
}

std::vector<std::string> UnknownProperties(const Requirement& requirement) {
  std::vector<std::string> unknown;
  for (const std::vector<Term>& all_of : requirement.any_of) {
    for (const Term& term : all_of) {
      if (FindProperty(term.property) == nullptr &&
          std::find(unknown.begin(), unknown.end(), term.property) == unknown.end())
        unknown.push_back(term.property);
    }
  }
  return unknown;
}

std::vector<Properties> PropertiesOf(const cdi::NodeDevices& node,
                                     std::span<const cdi::DeviceRow* const> devices) {
  const auto known = [](const std::string& text) {
    return text.empty() ? std::nullopt : std::optional(text);
  };
  std::vector<Properties> all;
  for (const cdi::DeviceRow* row : devices) {
    // A board that tells no brand is of none that an image asks for.
    all.push_back({known(node.cuda), known(node.driver_version), known(row->compute),
                   known(row->brand).value_or("unknown")});
  }
  if (all.empty()) all.push_back({known(node.cuda), known(node.driver_version), {}, {}});
  return all;
}

base::Result<void> CheckRequirements(std::span<const Requirement> requirements,
                                     std::span<const Properties> gpus) {
  for (const Requirement& requirement : requirements) {
    for (const Properties& gpu : gpus) {
      if (IsSatisfied(requirement, gpu)) continue;
      const std::string first = ToText(requirement.any_of.front());
      base::Error error = MakeError(ErrorCode::kUnsupported, "unsatisfied condition: {}", first);
      if (!first.starts_with("cuda>=")) return error;
      return std::move(error).WithHint(
          "update the driver of this machine, or use an image of an earlier CUDA");
    }
  }
  return {};
}

base::Result<void> CheckTexts(std::span<const std::string> requirements,
                              std::span<const Properties> gpus,
                              std::vector<std::string>* warnings) {
  std::vector<Requirement> parsed;
  for (const std::string& text : requirements) {
    TRY(requirement, ParseRequirement(text));
    for (const std::string& name : UnknownProperties(requirement))
      warnings->push_back(fmt::format("requirements of {} are skipped: there is no such property",
                                      base::Quoted(name)));
    parsed.push_back(std::move(requirement));
  }
  return CheckRequirements(parsed, gpus);
}

}  // namespace partita::request
