// The mount namespace of a container's process, entered and left again.
#pragma once

#include <cstdint>

#include "base/result.h"
#include "base/unique_fd.h"

namespace partita::hook {

class MountNamespace {
 public:
  // Of this process's own; nothing is entered.
  static base::Result<MountNamespace> Own();
  // Of the process; kNotFound where there is none.
  static base::Result<MountNamespace> Of(std::int64_t pid);

  // Afterwards paths mean what they mean there; the working directory is its root. Descriptors
  // stay.
  [[nodiscard]] base::Result<void> Enter() const;
  [[nodiscard]] bool IsSame(const MountNamespace& other) const;

 private:
  explicit MountNamespace(base::UniqueFd fd) : fd_(std::move(fd)) {}
  base::UniqueFd fd_;
};

}  // namespace partita::hook
