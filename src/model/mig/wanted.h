// From the names in a request to the profiles of one GPU.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/result.h"
#include "model/mig/geometry.h"
#include "model/mig/packing.h"
#include "model/profile_name.h"

namespace partita::model {

// A profile as a person may write it, before any GPU is known:
//
//   1g.5gb, 1c.3g.20gb, 1g.5gb+me   a name; names drift with driver and board
//   1g, 1c.3g, 1g+me, 1g*2          the slice form, the same everywhere; *2: with twice the memory
//   id:19, id:9/1c                  the driver's profile id, as nvidia-smi lists it
//   1_SLICE_REV2, 3_SLICE/1c        NVML's constant, with or without NVML_GPU_INSTANCE_PROFILE_
//
// "/1c" asks for one compute slice of it, as "1c." does in front of a name.
class ProfileRequest {
 public:
  struct BySlices {
    ProfileName name;  // its memory says nothing
    bool twice_the_memory = false;
    bool operator==(const BySlices&) const = default;
  };
  struct ById {
    ProfileId id;
    std::optional<std::uint32_t> compute_slices;
    bool operator==(const ById&) const = default;
  };
  struct ByConstant {
    ProfileConstant constant;
    std::optional<std::uint32_t> compute_slices;
    bool operator==(const ByConstant&) const = default;
  };
  using Choice = std::variant<ProfileName, BySlices, ById, ByConstant>;

  // kInvalid, with the forms above in the hint, when it is none of them.
  [[nodiscard]] static base::Result<ProfileRequest> Parse(std::string_view text);

  [[nodiscard]] const std::string& text() const { return text_; }
  [[nodiscard]] const Choice& choice() const { return choice_; }
  bool operator==(const ProfileRequest&) const = default;

 private:
  ProfileRequest(std::string text, Choice choice)
      : text_(std::move(text)), choice_(std::move(choice)) {}
  std::string text_;
  Choice choice_;
};

// The device that is meant on a GPU of this geometry. Names are compared with the computed one and
// with the driver's own. Errors are kInvalid and say what this GPU has instead.
[[nodiscard]] base::Result<WantedDevice> Resolve(const MigGeometry& geometry,
                                                 const ProfileRequest& request);

// Both at once.
[[nodiscard]] base::Result<WantedDevice> ResolveProfile(const MigGeometry& geometry,
                                                        std::string_view text);

// The name of a device as the editor exports it: "3g.20gb" or "1c.3g.20gb".
[[nodiscard]] std::string DeviceName(const MigGeometry& geometry, const WantedDevice& device);

// The names of whole instances, largest first.
[[nodiscard]] std::vector<std::string> ProfileNames(const MigGeometry& geometry);

}  // namespace partita::model
