// Whether a node is divided as it shall be when nobody orders anything.
#pragma once

#include <string>
#include <vector>

#include "model/inventory.h"

namespace partita::service::mig {

// What says how it shall be: a configuration of a file, else what was applied last.
struct WantedLayout {
  std::string config_file;
  std::string config;           // empty: what was applied last
  std::string state_directory;  // of that
};

struct LayoutCheck {
  std::string wanted;                    // "what was applied last"; empty: nothing is wanted
  std::vector<std::string> differences;  // "GPU 3: has MIG off, wanted MIG on: 7 x 1g.5gb"
  // All that differs is missing, and nothing is in its place: as a reboot leaves GPUs.
  bool lost = false;
};

// What cannot be compared is a difference that says why.
[[nodiscard]] LayoutCheck CheckLayout(const model::Inventory& node, const WantedLayout& wanted);

}  // namespace partita::service::mig
