// The way through a tree from component to component, each by descriptor, beneath one root.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/unique_fd.h"

namespace partita::base {

// "/a//./b" has the components a and b.
[[nodiscard]] std::vector<std::string> Components(std::string_view path);

// "/a/" and "/a/." are what a leads to.
[[nodiscard]] bool MeansDirectory(std::string_view path);

class RootWalk {
 public:
  enum class For { kReading, kWriting };
  // `root` stays open as long as this. `name` is for messages.
  RootWalk(int root, std::string name, For purpose)
      : root_(root), name_(std::move(name)), purpose_(purpose) {}

  enum class Last { kFollow, kStay };  // a link as the last component
  // Goes there. `make`: missing directories get this mode. ".." goes to where we came from, never
  // above the root; links are read and their text is gone through in the same way. For writing,
  // links end on the mount that the first of them is on (kInvalid).
  [[nodiscard]] Result<void> Go(std::string_view path, Last last, std::optional<mode_t> make);

  // Where we are, O_PATH.
  [[nodiscard]] int here() const { return steps_.empty() ? root_ : steps_.back().fd.get(); }
  // The directory that we are in, if we are not at the root.
  [[nodiscard]] int parent() const;
  [[nodiscard]] std::string last_name() const;
  [[nodiscard]] std::string path() const;
  [[nodiscard]] UniqueFd TakeHere();

 private:
  struct Step {
    UniqueFd fd;
    std::string name;
  };
  Result<UniqueFd> Enter(const std::string& name, std::optional<mode_t> make) const;
  [[nodiscard]] Result<std::optional<std::string>> LinkText(int fd) const;
  [[nodiscard]] Result<void> CheckMount() const;

  int root_;
  std::string name_;
  For purpose_;
  std::optional<std::uint64_t> mount_;  // of the first link that was followed for writing
  std::vector<Step> steps_;
};

}  // namespace partita::base
