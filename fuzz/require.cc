// Any text as a requirement of NVIDIA_REQUIRE_*: refused, or one that says the same when it is read
// again from its own terms, for every GPU.
#include "request/require.h"

#include <string>

#include "fuzz/target.h"

namespace {

using partita::request::CheckRequirements;
using partita::request::Properties;
using partita::request::Requirement;

std::string Written(const Requirement& requirement) {
  std::string text;
  for (const auto& all_of : requirement.any_of) {
    text += text.empty() ? "" : " ";
    for (const auto& term : all_of) {
      if (&term != all_of.data()) text += ',';
      text += term.property + term.op + term.value;
    }
  }
  return text;
}

}  // namespace

FUZZ_TARGET(require) {
  const std::string_view text = partita::fuzz::AsText(data, size);
  const auto requirement = partita::request::ParseRequirement(text);
  if (!requirement.ok()) {
    PARTITA_CHECK(requirement.error().code() == partita::base::ErrorCode::kInvalid);
    return 0;
  }
  const auto again = partita::request::ParseRequirement(Written(*requirement));
  PARTITA_CHECK(again.ok() && again->any_of == requirement->any_of);
  const Properties unknown;
  PARTITA_CHECK(CheckRequirements({&*requirement, 1}, {&unknown, 1}).ok());
  const Properties gpu = {"12.4", "550.90.07", "9.0", "tesla"};
  const auto result = CheckRequirements({&*requirement, 1}, {&gpu, 1});
  PARTITA_CHECK(result.ok() == CheckRequirements({&*again, 1}, {&gpu, 1}).ok());
  return 0;
}
