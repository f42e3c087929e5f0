// Our taint on our Node, where it is asked for, and the end of the one that kept pods away until
// the agent was there. Taints of others are never touched.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "agent/cluster/cluster.h"
#include "agent/cluster/contention.h"
#include "agent/cluster/label_memory.h"
#include "base/log.h"
#include "kube/backoff.h"
#include "service/labels/taints.h"

namespace partita::agent {

// Loop's thread only. What it is given outlives it.
class TaintKeeper {
 public:
  // `changed` is called when problem() becomes another. May be empty.
  TaintKeeper(base::Log& log,
              Cluster& cluster,
              LabelMemory& memory,
              kube::Random random,
              net::Task changed = {});
  TaintKeeper(const TaintKeeper&) = delete;
  TaintKeeper& operator=(const TaintKeeper&) = delete;
  ~TaintKeeper() = default;

  void Start();
  void Stop();
  // Absent: none. One that we put there before goes.
  void Set(std::optional<service::labels::Taint> taint);
  // What kept pods away until the agent served goes.
  void SetReady();
  // Why taints are not as they should be; empty: they are, or nobody can tell.
  [[nodiscard]] const std::string& problem() const { return problem_; }

 private:
  void Check();
  void Write(const kube::Retrying::Done& done);
  void SetProblem(const std::string& problem);
  [[nodiscard]] service::labels::TaintsWish Wish() const;

  base::Log& log_;
  Cluster& cluster_;
  LabelMemory& memory_;
  net::Task changed_;
  bool running_ = false, told_ = false, ready_ = false, look_again_ = false;
  std::optional<service::labels::Taint> wanted_;
  std::string problem_;
  base::RepeatedFailure failure_;
  kube::Retrying writing_;
  Contention contention_;
  std::shared_ptr<void> subscription_;
};

}  // namespace partita::agent
