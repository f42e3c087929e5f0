// Specifications as text. The same values give the same bytes.
#pragma once

#include <string>

#include "base/result.h"
#include "base/value.h"
#include "cdi/spec.h"

namespace partita::cdi {

[[nodiscard]] base::Value ToValue(const Spec& spec);

// As the CDI library writes it: "---" first, go-yaml's indentation.
[[nodiscard]] std::string ToYaml(const Spec& spec);
// One line without a newline.
[[nodiscard]] std::string ToJson(const Spec& spec);

// YAML or JSON. Keys are as they are written, in the case that they have in the specification; one
// that is unknown or there twice is an error, as is a value of another type. kInvalid with every
// problem and its place. What the values mean is Check's to judge.
[[nodiscard]] base::Result<Spec> Parse(std::string text, const std::string& file);

}  // namespace partita::cdi
