#include "model/mig/wanted.h"

#include <algorithm>
#include <array>
#include <limits>

#include <fmt/format.h>

#include "base/text.h"

namespace partita::model {
namespace {

// NVML's words for its profile constants, by value, as API 13.3 numbers them.
constexpr std::array<std::string_view, 18> kConstants = {
    "1_SLICE",        "2_SLICE",        "3_SLICE",      "4_SLICE",       "7_SLICE",
    "8_SLICE",        "6_SLICE",        "1_SLICE_REV1", "2_SLICE_REV1",  "1_SLICE_REV2",
    "1_SLICE_GFX",    "2_SLICE_GFX",    "4_SLICE_GFX",  "1_SLICE_NO_ME", "2_SLICE_NO_ME",
    "1_SLICE_ALL_ME", "2_SLICE_ALL_ME", "3_SLICE_GFX"};

std::optional<std::uint32_t> Number(std::string_view text) {
  const std::optional<std::uint64_t> number = base::ParseUnsigned(text);
  if (!number || *number > std::numeric_limits<std::uint32_t>::max()) return std::nullopt;
  return static_cast<std::uint32_t>(*number);
}

// "9/1c": what is before the slash, and the compute slices behind it, if there is one.
struct Divided {
  std::string_view whole;
  std::optional<std::uint32_t> compute_slices;
};
std::optional<Divided> SplitCompute(std::string_view text) {
  const std::vector<std::string_view> pieces = base::Split(text, '/');
  if (pieces.size() == 1) return Divided{text, std::nullopt};
  if (pieces.size() != 2 || !pieces[1].ends_with('c')) return std::nullopt;
  const auto slices = Number(pieces[1].substr(0, pieces[1].size() - 1));
  if (!slices) return std::nullopt;
  return Divided{pieces[0], slices};
}

std::optional<ProfileRequest::Choice> ParseId(std::string_view text) {
  const auto rest = base::WithoutPrefix(text, "id:");
  if (!rest) return std::nullopt;
  const std::optional<Divided> parts = SplitCompute(*rest);
  if (!parts) return std::nullopt;
  const std::optional<std::uint32_t> id = Number(parts->whole);
  if (!id) return std::nullopt;
  return ProfileRequest::ById{ProfileId(*id), parts->compute_slices};
}

std::optional<ProfileRequest::Choice> ParseConstant(std::string_view text) {
  const std::optional<Divided> parts = SplitCompute(text);
  if (!parts) return std::nullopt;
  const std::string_view word =
      base::WithoutPrefix(parts->whole, "NVML_GPU_INSTANCE_PROFILE_").value_or(parts->whole);
  const auto found = std::find(kConstants.begin(), kConstants.end(), word);
  if (found == kConstants.end()) return std::nullopt;
  const auto value = static_cast<std::uint32_t>(found - kConstants.begin());
  return ProfileRequest::ByConstant{ProfileConstant(value), parts->compute_slices};
}

// "1c.3g", "1g+me", "1g*2": a name without its memory.
std::optional<ProfileRequest::Choice> ParseSlices(std::string_view text) {
  std::string form(text);
  const std::size_t end = form.find_first_of("+-*");
  const bool twice = end != std::string::npos && form.compare(end, 2, "*2") == 0;
  if (twice) form.erase(end, 2);
  const std::size_t memory = std::min(end, form.size());
  if (memory == 0 || form[memory - 1] != 'g') return std::nullopt;
  base::Result<ProfileName> name = ProfileName::Parse(form.insert(memory, ".0gb"));
  if (!name.ok()) return std::nullopt;
  return ProfileRequest::BySlices{*std::move(name), twice};
}

bool SameSlicesAndAttributes(const ProfileName& a, const ProfileName& b) {
  return a.gpu_slices == b.gpu_slices && a.with == b.with && a.without == b.without;
}

// Positions of the profiles with such slices and attributes, least memory first.
std::vector<std::size_t> Alike(const MigGeometry& geometry, const ProfileName& wanted) {
  std::vector<std::size_t> alike;
  for (std::size_t i = 0; i < geometry.profiles.size(); ++i) {
    const base::Result<ProfileName> name = ProfileName::Parse(geometry.profiles[i].name);
    if (name.ok() && SameSlicesAndAttributes(*name, wanted)) alike.push_back(i);
  }
  std::stable_sort(alike.begin(), alike.end(), [&](std::size_t a, std::size_t b) {
    return geometry.profiles[a].memory < geometry.profiles[b].memory;
  });
  return alike;
}

// A profile and how much of it; without a number, all of it.
struct Found {
  std::size_t profile = 0;
  std::optional<std::uint32_t> compute_slices;
};

struct Finder {
  const MigGeometry& geometry;

  std::optional<Found> operator()(const ProfileName& wanted) const {
    ProfileName whole = wanted;
    whole.compute_slices = whole.gpu_slices;
    for (std::size_t i = 0; i < geometry.profiles.size(); ++i) {
      for (const std::string& text : {geometry.profiles[i].name, geometry.profiles[i].nvml_name}) {
        const base::Result<ProfileName> name = ProfileName::Parse(text);
        if (name.ok() && *name == whole) return Found{i, wanted.compute_slices};
      }
    }
    return std::nullopt;
  }
  std::optional<Found> operator()(const ProfileRequest::BySlices& wanted) const {
    const std::vector<std::size_t> alike = Alike(geometry, wanted.name);
    const std::size_t step = wanted.twice_the_memory ? 1 : 0;
    if (step >= alike.size()) return std::nullopt;
    return Found{alike[step], wanted.name.compute_slices};
  }
  std::optional<Found> operator()(const ProfileRequest::ById& wanted) const {
    for (std::size_t i = 0; i < geometry.profiles.size(); ++i)
      if (geometry.profiles[i].id == wanted.id) return Found{i, wanted.compute_slices};
    return std::nullopt;
  }
  std::optional<Found> operator()(const ProfileRequest::ByConstant& wanted) const {
    for (std::size_t i = 0; i < geometry.profiles.size(); ++i)
      if (geometry.profiles[i].constant == wanted.constant) return Found{i, wanted.compute_slices};
    return std::nullopt;
  }
};

// A compute instance is as wide as its GPU instance or at most half of it, rounded up: what drivers
// were seen to offer (2c in 3g, 4c in 7g, never 3c in 4g). They list it only once the GPU instance
// exists.
bool IsComputeWidth(std::uint32_t slices, std::uint32_t of) {
  return slices == of || 2 * slices <= of + 1;
}

// The name this GPU has for what was probably meant: the same slices and attributes with the
// nearest memory, since the memory in a name varies with driver and board; else the nearest word.
std::string Suggestion(const MigGeometry& geometry, const ProfileRequest& request) {
  const auto* wanted = std::get_if<ProfileName>(&request.choice());
  if (wanted == nullptr) return base::DidYouMean(request.text(), ProfileNames(geometry));
  std::string nearest;
  std::uint64_t distance = std::numeric_limits<std::uint64_t>::max();
  for (std::size_t i : Alike(geometry, *wanted)) {
    const std::uint64_t gigabytes = ProfileName::Parse(geometry.profiles[i].name)->gigabytes;
    const std::uint64_t apart =
        std::max(gigabytes, wanted->gigabytes) - std::min(gigabytes, wanted->gigabytes);
    if (apart >= distance) continue;
    distance = apart;
    nearest = DeviceName(geometry, {i, wanted->compute_slices == wanted->gpu_slices
                                           ? geometry.profiles[i].slice_count
                                           : wanted->compute_slices});
  }
  if (!nearest.empty()) return nearest;
  return base::DidYouMean(request.text(), ProfileNames(geometry));
}

base::Error Unknown(const MigGeometry& geometry, const ProfileRequest& request) {
  base::Error error = base::MakeError(base::ErrorCode::kInvalid, "unknown MIG profile {}",
                                      base::Quoted(request.text()));
  if (geometry.profiles.empty()) {
    return std::move(error).WithHint(
        "the driver lists no profiles of this GPU; older ones list them only while MIG is on");
  }
  const std::string meant = Suggestion(geometry, request);
  return std::move(error).WithHint(
      meant.empty() ? fmt::format("this GPU has {}", base::Join(ProfileNames(geometry), ", "))
                    : fmt::format("did you mean {}?", base::Quoted(meant)));
}

}  // namespace

base::Result<ProfileRequest> ProfileRequest::Parse(std::string_view text) {
  if (const auto choice = ParseId(text)) return ProfileRequest(std::string(text), *choice);
  if (const auto choice = ParseConstant(text)) return ProfileRequest(std::string(text), *choice);
  if (const auto choice = ParseSlices(text)) return ProfileRequest(std::string(text), *choice);
  base::Result<ProfileName> name = ProfileName::Parse(text);
  if (name.ok()) return ProfileRequest(std::string(text), *std::move(name));
  return base::MakeError(base::ErrorCode::kInvalid, "{} is no MIG profile", base::Quoted(text))
      .WithHint("write it like 1g.5gb, 1c.3g.20gb, 1g.10gb+me, 1g, id:19 or 1_SLICE_REV1");
}

base::Result<WantedDevice> Resolve(const MigGeometry& geometry, const ProfileRequest& request) {
  const std::optional<Found> found = std::visit(Finder{geometry}, request.choice());
  if (!found) return Unknown(geometry, request);
  const GpuInstanceProfile& profile = geometry.profiles[found->profile];
  const std::uint32_t part = found->compute_slices.value_or(profile.slice_count);
  std::vector<std::string> offered;
  for (std::uint32_t slices = 1; slices <= profile.slice_count; ++slices) {
    if (!IsComputeWidth(slices, profile.slice_count)) continue;
    if (slices == part) return WantedDevice{found->profile, part};
    offered.push_back(std::to_string(slices));
  }
  return base::MakeError(base::ErrorCode::kInvalid, "{}: {} has no compute instance of {} slices",
                         base::Quoted(request.text()), profile.name, part)
      .WithHint(fmt::format("it has {}", base::JoinWithOr(offered)));
}

base::Result<WantedDevice> ResolveProfile(const MigGeometry& geometry, std::string_view text) {
  TRY(request, ProfileRequest::Parse(text));
  return Resolve(geometry, request);
}

std::string DeviceName(const MigGeometry& geometry, const WantedDevice& device) {
  const GpuInstanceProfile& profile = geometry.profiles[device.profile];
  if (device.compute_slices == profile.slice_count) return profile.name;
  return fmt::format("{}c.{}", device.compute_slices, profile.name);
}

std::vector<std::string> ProfileNames(const MigGeometry& geometry) {
  std::vector<std::string> names;
  for (std::size_t profile : LargestFirst(geometry))
    names.push_back(geometry.profiles[profile].name);
  return names;
}

}  // namespace partita::model
