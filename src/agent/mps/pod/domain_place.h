// A domain's directory below the runner's root, held by descriptor: nobody puts another in its
// place, and no link in it leads anywhere.
#pragma once

#include <string>

#include "base/result.h"
#include "base/unique_fd.h"

namespace partita::agent::mps::pod {

class DomainPlace {
 public:
  // kInvalid: it or what lies in it is a link, another user's, or for others to write. Links above
  // the root are the host's business.
  static base::Result<DomainPlace> Open(const std::string& root, const std::string& domain);

  // Paths through the descriptors: for this process, and while this lives.
  [[nodiscard]] std::string shm() const;
  [[nodiscard]] std::string log_file() const;
  // As people call it.
  [[nodiscard]] const std::string& name() const { return name_; }

 private:
  DomainPlace(base::UniqueFd domain, base::UniqueFd log, std::string name);
  base::UniqueFd domain_, log_;
  std::string name_;
};

}  // namespace partita::agent::mps::pod
