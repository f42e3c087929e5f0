// Whether the agent does its duties, as a list of named checks. Loop's thread only.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "net/loop.h"

namespace partita::agent {

class Readiness {
 public:
  struct Check {
    std::string name;
    std::string problem;  // empty: it is well
    bool operator==(const Check&) const = default;
  };

  // Listed in the order of being named first. A duty that is expected and has not reported is a
  // problem: "not started".
  void Expect(std::string name) { Set(std::move(name), "not started"); }
  void SetGood(std::string name) { Set(std::move(name), ""); }
  void SetBad(std::string name, std::string problem) { Set(std::move(name), std::move(problem)); }

  [[nodiscard]] bool ready() const;
  [[nodiscard]] const std::vector<Check>& checks() const { return checks_; }
  // "[+] config\n[-] inventory: no driver\n", as Kubernetes' own servers write it.
  [[nodiscard]] std::string Text() const;
  // The first problem with its name, or "".
  [[nodiscard]] std::string Problem() const;

  // Called when something became another; one subscriber.
  void OnChange(net::Task task) { changed_ = std::move(task); }

 private:
  void Set(std::string name, std::string problem);
  std::vector<Check> checks_;
  net::Task changed_;
};

}  // namespace partita::agent
