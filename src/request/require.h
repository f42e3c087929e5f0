// NVIDIA_REQUIRE_*: what an image needs of the driver and of every GPU that it gets.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "cdi/node_devices.h"

namespace partita::request {

struct Term {
  std::string property, op, value;  // "cuda", ">=", "12.4"; the property in lower case
  bool operator==(const Term&) const = default;
};
// "cuda>=12.4 brand=tesla,driver>=470": one of the lists between spaces, all of its terms.
struct Requirement {
  std::vector<std::vector<Term>> any_of;
  std::string text;
};

// kInvalid: a term without operator, a version that is none, a brand that is compared by size.
// Terms of properties that are not known stay, and count for nothing.
[[nodiscard]] base::Result<Requirement> ParseRequirement(std::string_view text);
// For warnings.
[[nodiscard]] std::vector<std::string> UnknownProperties(const Requirement& requirement);

// Of one GPU. What is not known satisfies everything.
struct Properties {
  std::optional<std::string> cuda, driver, arch, brand;
};
// Of each GPU of these devices, a MIG device's being its parent; without devices, of the driver.
[[nodiscard]] std::vector<Properties> PropertiesOf(const cdi::NodeDevices& node,
                                                   std::span<const cdi::DeviceRow* const> devices);

// Every requirement for every GPU. kUnsupported: `unsatisfied condition: …`.
[[nodiscard]] base::Result<void> CheckRequirements(std::span<const Requirement> requirements,
                                                   std::span<const Properties> gpus);

// ParseRequirement, UnknownProperties and CheckRequirements of a request's texts.
[[nodiscard]] base::Result<void> CheckTexts(std::span<const std::string> requirements,
                                            std::span<const Properties> gpus,
                                            std::vector<std::string>* warnings);

}  // namespace partita::request
