// Names of MIG profiles: `[<C>c.]<G>g.<GB>gb[(+|-)<attribute>[,<attribute>…]]`.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "model/ids.h"

namespace partita::model {

// What a name says, in one spelling: two names mean the same profile exactly when they are equal.
// Whether a GPU offers such a profile is another question: "10000g.500000gb" is a name.
struct ProfileName {
  std::uint32_t compute_slices = 0;  // C; equal to `gpu_slices` for the whole GPU instance
  std::uint32_t gpu_slices = 0;      // G
  std::uint64_t gigabytes = 0;
  // "me", "me.all", "gfx"; sorted, each once. At most one of the two lists is filled.
  std::vector<std::string> with;     // after "+"
  std::vector<std::string> without;  // after "-"

  // Accepts the grammar above and the driver's spelling with "MIG " in front.
  static base::Result<ProfileName> Parse(std::string_view text);
  // The form of Kubernetes resources and labels, where "+" may not be: "1g.10gb.me",
  // "mig-1g.10gb.me". The dash of "-me" stays.
  static base::Result<ProfileName> ParseLabel(std::string_view text);

  [[nodiscard]] std::string ToString() const;  // "1c.3g.20gb", "1g.24gb+me.all"; C only if not G
  [[nodiscard]] std::string ToLabel() const;   // the same with "." for "+"

  bool operator==(const ProfileName&) const = default;
};

// The GB number of a name. `memory` is the profile's, `total` the whole board's as NVML's first
// memory call gives it. Both vary with the driver, so a name is right for one GPU only.
[[nodiscard]] std::uint64_t MemorySuffix(Mebibytes memory, Bytes total);

// The name of a GPU-instance profile from what NVML says about it. `constant` tells the attributes;
// for one that is newer than this program they come from the driver's own name, if it gives one.
[[nodiscard]] ProfileName NameGpuInstanceProfile(ProfileConstant constant,
                                                 std::uint32_t slice_count,
                                                 std::uint64_t gigabytes,
                                                 std::string_view nvml_name);

}  // namespace partita::model
