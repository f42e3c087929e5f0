// Waiting for what is answered by a call on another thread.
#pragma once

#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>

namespace partita::hw::nvml {

// `submit` gets a function that takes the answer, once, from any thread.
template <typename Answer, typename Submit>
[[nodiscard]] Answer Await(Submit submit) {
  struct Box {
    std::mutex mutex;
    std::condition_variable come;
    std::optional<Answer> answer;
  };
  // Shared: the other thread may still be in the call when the answer is read.
  const auto box = std::make_shared<Box>();
  submit([box](const Answer& answer) {
    const std::scoped_lock lock(box->mutex);
    box->answer = answer;
    box->come.notify_all();
  });
  std::unique_lock lock(box->mutex);
  box->come.wait(lock, [&] { return box->answer.has_value(); });
  return *box->answer;
}

}  // namespace partita::hw::nvml
