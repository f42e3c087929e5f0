// Where an agent has put labels and a taint, over restarts: another configuration takes away what
// was written under this one. Noted before the first write, forgotten once nothing is there.
#pragma once

#include <optional>
#include <string>

#include "base/log.h"
#include "service/labels/taints.h"

namespace partita::agent {

struct LabelPlaces {
  bool node = false;         // labels of our Node
  std::string node_feature;  // the namespace of a NodeFeature object; empty: none
  std::string file;          // empty: none
  std::optional<service::labels::Taint> taint{};
  bool operator==(const LabelPlaces&) const = default;
};

// Loop's thread only. The log outlives it.
class LabelMemory {
 public:
  explicit LabelMemory(base::Log& log);

  // What labels.json in this directory says. One that cannot be read is told, and nothing known.
  void Open(const std::string& state_directory);
  [[nodiscard]] const LabelPlaces& places() const { return places_; }
  // On disk when it returns; a disk that does not take it is told, and costs what follows a
  // restart.
  void Note(const LabelPlaces& places);

 private:
  base::Log& log_;
  std::string directory_;
  LabelPlaces places_;
  base::RepeatedFailure failure_;
};

}  // namespace partita::agent
