// What `--want` says, as words.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "model/inventory.h"
#include "model/mig/plan.h"

namespace partita::service::mig {

inline constexpr std::string_view kWantOption = "--want";

// "1g.5gb:7,3g.20gb", "none" (MIG on and empty) or "off".
struct WantedText {
  struct Entry {
    std::string profile;
    std::uint32_t count = 1;
    int column = 1;  // of the name, in characters from 1
  };
  std::string text;
  bool enabled = true;
  std::vector<Entry> entries;

  // kInvalid with the place, in caret form.
  static base::Result<WantedText> Parse(std::string text);
};

// The devices that are meant on GPUs of this geometry; problems in caret form.
[[nodiscard]] base::Result<model::GpuGoal> ResolveWanted(const WantedText& wanted,
                                                         const model::Gpu& gpu);

}  // namespace partita::service::mig
