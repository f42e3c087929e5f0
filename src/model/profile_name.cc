#include "model/profile_name.h"

#include <algorithm>
#include <array>
#include <limits>
#include <optional>
#include <span>

#include <fmt/format.h>

#include "base/characters.h"
#include "base/text.h"

namespace partita::model {
namespace {

base::Error Wrong(std::string_view text, std::string_view why) {
  return base::MakeError(base::ErrorCode::kInvalid, "{} is not a MIG profile name: {}",
                         base::Quoted(text), why)
      .WithHint("write it like 1g.5gb, 1c.3g.20gb or 1g.10gb+me");
}

using base::IsDigit;

bool IsAttribute(std::string_view text) {
  const auto allowed = [](char c) {
    return IsDigit(c) || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || c == '.';
  };
  return !text.empty() && std::all_of(text.begin(), text.end(), allowed) &&
         !IsDigit(text.front()) && text.front() != '.' && text.back() != '.';
}

// "3g" with unit "g" is 3.
std::optional<std::uint64_t> NumberBefore(std::string_view text, std::string_view unit) {
  if (!text.ends_with(unit)) return std::nullopt;
  return base::ParseUnsigned(text.substr(0, text.size() - unit.size()));
}

std::optional<std::uint32_t> Slices(std::string_view text, std::string_view unit) {
  const std::optional<std::uint64_t> number = NumberBefore(text, unit);
  if (!number || *number > std::numeric_limits<std::uint32_t>::max()) return std::nullopt;
  return static_cast<std::uint32_t>(*number);
}

// The part before the attributes, from its two or three fields.
std::optional<ProfileName> Sizes(std::span<const std::string_view> fields) {
  if (fields.size() != 2 && fields.size() != 3) return std::nullopt;
  const std::optional<std::uint32_t> gpu = Slices(fields[fields.size() - 2], "g");
  const std::optional<std::uint64_t> gigabytes = NumberBefore(fields.back(), "gb");
  const std::optional<std::uint32_t> compute = fields.size() == 3 ? Slices(fields[0], "c") : gpu;
  if (!gpu || !gigabytes || !compute) return std::nullopt;
  return ProfileName{.compute_slices = *compute,
                     .gpu_slices = *gpu,
                     .gigabytes = *gigabytes,
                     .with = {},
                     .without = {}};
}

base::Result<std::vector<std::string>> Attributes(std::string_view whole, std::string_view list) {
  std::vector<std::string> attributes;
  for (const std::string_view attribute : base::Split(list, ',')) {
    if (!IsAttribute(attribute)) {
      return Wrong(whole, fmt::format("{} is not an attribute", base::Quoted(attribute)));
    }
    attributes.emplace_back(attribute);
  }
  std::sort(attributes.begin(), attributes.end());
  const auto twice = std::adjacent_find(attributes.begin(), attributes.end());
  if (twice != attributes.end()) {
    return Wrong(whole, fmt::format("attribute {} is given twice", *twice));
  }
  return attributes;
}

std::string Print(const ProfileName& name, char plus) {
  std::string text;
  if (name.compute_slices != name.gpu_slices) text += fmt::format("{}c.", name.compute_slices);
  text += fmt::format("{}g.{}gb", name.gpu_slices, name.gigabytes);
  if (!name.with.empty()) text += plus + base::Join(name.with, ",");
  if (!name.without.empty()) text += '-' + base::Join(name.without, ",");
  return text;
}

// Attributes by NVML's profile constant, as API 13.3 numbers them.
struct ConstantAttribute {
  std::uint32_t constant;
  char sign;
  std::string_view attribute;
};
constexpr std::array kConstantAttributes = {
    ConstantAttribute{7, '+', "me"},      ConstantAttribute{8, '+', "me"},
    ConstantAttribute{10, '+', "gfx"},    ConstantAttribute{11, '+', "gfx"},
    ConstantAttribute{12, '+', "gfx"},    ConstantAttribute{13, '-', "me"},
    ConstantAttribute{14, '-', "me"},     ConstantAttribute{15, '+', "me.all"},
    ConstantAttribute{16, '+', "me.all"}, ConstantAttribute{17, '+', "gfx"},
};
constexpr std::uint32_t kHighestKnownConstant = 17;

}  // namespace

base::Result<ProfileName> ProfileName::Parse(std::string_view text) {
  const std::string_view name = base::WithoutPrefix(text, "MIG ").value_or(text);
  const std::size_t sign = name.find_first_of("+-");
  const std::vector<std::string_view> fields = base::Split(name.substr(0, sign), '.');
  std::optional<ProfileName> parsed = Sizes(fields);
  if (!parsed) return Wrong(text, "it needs slices and memory");
  if (sign == std::string_view::npos) return *std::move(parsed);

  TRY(attributes, Attributes(text, name.substr(sign + 1)));
  (name[sign] == '+' ? parsed->with : parsed->without) = std::move(attributes);
  return *std::move(parsed);
}

base::Result<ProfileName> ProfileName::ParseLabel(std::string_view text) {
  const std::string_view name = base::WithoutPrefix(text, "mig-").value_or(text);
  const std::size_t unit = name.find("gb");
  const std::size_t end = unit == std::string_view::npos ? name.size() : unit + 2;
  std::string spelled(name);
  if (end < spelled.size() && spelled[end] == '.') spelled[end] = '+';
  if (spelled.starts_with("MIG ") || name.find('+') != std::string_view::npos) {
    return Wrong(text, "that is not its label form");
  }
  base::Result<ProfileName> parsed = Parse(spelled);
  // The message must quote what was given, not our respelling of it.
  if (!parsed.ok()) return Wrong(text, "it needs slices and memory, then attributes after a dot");
  return parsed;
}

std::string ProfileName::ToString() const { return Print(*this, '+'); }

std::string ProfileName::ToLabel() const { return Print(*this, '.'); }

std::uint64_t MemorySuffix(Mebibytes memory, Bytes total) {
  if (total.value() == 0) return 0;
  // In whole numbers, so that halves are exact: eighths of the board, rounded up, times its GiB,
  // rounded up; then halves away from zero, as in 141 / 2 = 70.5 -> 71 on an H200.
  __extension__ using Wide = unsigned __int128;
  const Wide bytes = Wide{memory.value()} << 20U;
  const Wide eighths = (bytes * 8 + total.value() - 1) / total.value();
  const Wide gibibytes = (Wide{total.value()} + ((1ULL << 30U) - 1)) >> 30U;
  return static_cast<std::uint64_t>((eighths * gibibytes + 4) / 8);
}

ProfileName NameGpuInstanceProfile(ProfileConstant constant,
                                   std::uint32_t slice_count,
                                   std::uint64_t gigabytes,
                                   std::string_view nvml_name) {
  ProfileName name{.compute_slices = slice_count,
                   .gpu_slices = slice_count,
                   .gigabytes = gigabytes,
                   .with = {},
                   .without = {}};
  for (const ConstantAttribute& row : kConstantAttributes) {
    if (row.constant != constant.value()) continue;
    (row.sign == '+' ? name.with : name.without).emplace_back(row.attribute);
  }
  if (constant.value() > kHighestKnownConstant) {
    if (const base::Result<ProfileName> given = ProfileName::Parse(nvml_name); given.ok()) {
      name.with = given->with;
      name.without = given->without;
    }
  }
  return name;
}

}  // namespace partita::model
