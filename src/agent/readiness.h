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
    std::string problem;    // empty: it is well
    std::string note = {};  // that it is well, but not as somebody meant it
    bool operator==(const Check&) const = default;
  };

  // Listed in the order of being named first. A duty that is expected and has not reported is a
  // problem: "not started".
  void Expect(std::string name) { SetBad(std::move(name), "not started"); }
  void SetGood(std::string name, std::string note = "") {
    Set({std::move(name), "", std::move(note)});
  }
  void SetBad(std::string name, std::string problem) {
    Set({std::move(name), std::move(problem), ""});
  }

  [[nodiscard]] bool ready() const;
  [[nodiscard]] const std::vector<Check>& checks() const { return checks_; }
  // "[+] config\n[-] inventory: no driver\n", a note behind a name in brackets, as Kubernetes' own
  // servers write it.
  [[nodiscard]] std::string Text() const;
  // The first problem with its name, or "".
  [[nodiscard]] std::string Problem() const;
  // For one line: the first problem, else "running" with the first note.
  [[nodiscard]] std::string Summary() const;

  // Called when something became another; one subscriber.
  void OnChange(net::Task task) { changed_ = std::move(task); }

 private:
  void Set(Check check);
  std::vector<Check> checks_;
  net::Task changed_;
};

}  // namespace partita::agent
