// The share of a server's clients: a percentage of the multiprocessors, and memory limits.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace partita::sim::mps {

// A limit under the key that it was set by: an ordinal or a UUID, which the daemon keeps apart.
struct Limit {
  std::string device;
  std::uint64_t bytes = 0;

  friend bool operator==(const Limit&, const Limit&) = default;
};

class Settings {
 public:
  // "40.0", as every answer writes it.
  [[nodiscard]] std::string Percentage() const;
  [[nodiscard]] double percentage() const { return percentage_; }
  // False: out of range, and the old one stays.
  bool SetPercentage(std::string_view text);

  // As the driver reads a limit back ("3G"); "" of none.
  [[nodiscard]] std::string LimitOf(std::string_view device) const;
  // What is no size takes the limit away.
  void SetLimit(const std::string& device, const std::string& value);
  [[nodiscard]] const std::vector<Limit>& limits() const { return limits_; }

  // For a server's environment.
  [[nodiscard]] std::string Encoded() const;
  [[nodiscard]] static Settings Decoded(std::string_view text);

  friend bool operator==(const Settings&, const Settings&) = default;

 private:
  double percentage_ = 100.0;
  std::vector<Limit> limits_;  // in the order of setting: the last for a device holds
};

}  // namespace partita::sim::mps
