// For what comes from other threads and processes, which no loop wakes a test for.
#pragma once

#include <chrono>
#include <functional>
#include <string>
#include <thread>

#include <gtest/gtest.h>

namespace partita::integration {

// Until it holds, at most a minute; `meanwhile` is done between two looks.
inline void WaitFor(
    const std::string& what,
    const std::function<bool()>& condition,
    const std::function<void()>& meanwhile = [] { std::this_thread::yield(); }) {
  const auto limit = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  while (!condition()) {
    ASSERT_LT(std::chrono::steady_clock::now(), limit) << "waited for: " << what;
    meanwhile();
  }
}

}  // namespace partita::integration
