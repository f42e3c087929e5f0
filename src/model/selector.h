// Which GPUs a person means: one grammar wherever GPUs are chosen.
#pragma once

#include <string>
#include <string_view>
#include <variant>

#include "base/result.h"
#include "model/ids.h"
#include "model/inventory.h"

namespace partita::model {

// A product by name: "H200", "NVIDIA H200" or "NVIDIA-H200", without regard to case.
using ProductName = base::Strong<struct ProductNameTag, std::string>;

class GpuSelector {
 public:
  using Choice = std::variant<GpuIndex, GpuUuid, PciAddress, ProductName>;

  explicit GpuSelector(Choice choice) : choice_(std::move(choice)) {}

  // "3", "GPU-…", "0000:07:00.0" or "07:00.0", else a product name. Never a MIG UUID: slices are
  // not selected here.
  [[nodiscard]] static base::Result<GpuSelector> Parse(std::string_view text);

  [[nodiscard]] bool Matches(const Gpu& gpu) const;
  // As it would be written: "GPU 3", "GPU-…", "0000:07:00.0", "product H200".
  [[nodiscard]] std::string ToString() const;
  [[nodiscard]] const Choice& choice() const { return choice_; }
  bool operator==(const GpuSelector&) const = default;

 private:
  Choice choice_;
};

}  // namespace partita::model
