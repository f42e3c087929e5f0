// One blocking call at a time, on a thread beside the loop.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <thread>

#include "base/result.h"
#include "net/loop.h"

namespace partita::agent::mps {

// Loop's thread only.
class Job {
 public:
  // Called on the thread; what it returns is called on the loop.
  using Work = std::function<net::Task(const std::atomic<bool>& stop)>;

  explicit Job(net::Loop& loop);
  Job(const Job&) = delete;
  Job& operator=(const Job&) = delete;
  // Tells the one that runs to stop, and waits for it; its end is told to nobody.
  ~Job();

  // The one that runs: it ends as soon as it can. Before the ends of several jobs, so that none
  // waits for the others' patience.
  void AskToStop() { stop_ = true; }

  [[nodiscard]] bool running() const { return running_; }
  // None runs. An error: there is no thread to be had.
  [[nodiscard]] base::Result<void> Start(Work work);

 private:
  net::Loop& loop_;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
  std::atomic<bool> stop_ = false;
  bool running_ = false;
  std::thread thread_;
};

}  // namespace partita::agent::mps
