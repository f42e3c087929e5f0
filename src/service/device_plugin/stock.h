// What is offered of one resource, made ready for kubelet's questions: both are on the way of every
// pod that starts, and of hundreds of devices none is to be searched for.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "service/device_plugin/offered.h"
#include "service/device_plugin/spread.h"

namespace partita::service::device_plugin {

class Stock {
 public:
  // The resource outlives it, and does not change meanwhile. A question about a resource is one
  // about its stock.
  Stock(const OfferedResource& resource);  // NOLINT(google-explicit-constructor)

  [[nodiscard]] const OfferedResource& resource() const { return *resource_; }
  // Where in the resource's devices it is; nothing: it is not offered.
  [[nodiscard]] std::optional<std::size_t> Find(std::string_view id) const;
  // Where each device is, with nothing free or required yet.
  [[nodiscard]] const std::vector<Spot>& spots() const { return spots_; }
  [[nodiscard]] bool has_mig() const { return has_mig_; }
  // Not everything may be one container's together: Spot::group differs.
  [[nodiscard]] bool has_groups() const { return has_groups_; }

 private:
  const OfferedResource* resource_;
  std::unordered_map<std::string_view, std::uint32_t> places_;
  std::vector<Spot> spots_;
  bool has_mig_ = false, has_groups_ = false;
};

}  // namespace partita::service::device_plugin
