// Making and removing a node's directory in one step, whatever is killed in between.
#pragma once

#include <string>

#include "base/result.h"
#include "base/unique_fd.h"

namespace partita::sim::tool {

// A directory under construction beside its final place, removed unless it is published. `list`
// does not show it; one whose maker was killed is removed by the next command that makes or removes
// a node.
class Scaffold {
 public:
  // `directory` is the nodes' directory, which is made when it is missing.
  [[nodiscard]] static base::Result<Scaffold> Start(const std::string& directory,
                                                    const std::string& name);
  Scaffold(Scaffold&&) = default;
  Scaffold& operator=(Scaffold&&) = delete;
  Scaffold(const Scaffold&) = delete;
  Scaffold& operator=(const Scaffold&) = delete;
  ~Scaffold();

  [[nodiscard]] const std::string& path() const { return path_; }
  // kConflict when something is at the final place already.
  [[nodiscard]] base::Result<void> Publish();

 private:
  Scaffold(std::string directory, std::string name, std::string path, base::UniqueFd lock)
      : directory_(std::move(directory)),
        name_(std::move(name)),
        path_(std::move(path)),
        lock_(std::move(lock)) {}

  std::string directory_, name_;
  std::string path_;  // empty: published
  base::UniqueFd lock_;
};

// Takes the node's directory out of the list at once, then removes it.
[[nodiscard]] base::Result<void> Demolish(const std::string& directory, const std::string& name);

// Removes what killed commands left behind.
void RemoveLeftovers(const std::string& directory);

}  // namespace partita::sim::tool
