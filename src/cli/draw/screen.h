// A terminal taken over for a drawing that is renewed, and given back as it was.
#pragma once

#include <sys/signalfd.h>
#include <termios.h>

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

#include "base/result.h"
#include "base/unique_fd.h"
#include "cli/draw/drawing.h"
#include "cli/draw/terminal.h"

namespace partita::cli {

// Turns the signals that end, stop or resize a terminal program into events. To be made before any
// thread is started, since threads inherit what is blocked.
class SignalQueue {
 public:
  static base::Result<SignalQueue> Create();
  // Lets the process have its signals again.
  ~SignalQueue();
  SignalQueue(SignalQueue&& other) noexcept;
  SignalQueue& operator=(SignalQueue&&) = delete;
  SignalQueue(const SignalQueue&) = delete;
  SignalQueue& operator=(const SignalQueue&) = delete;

  [[nodiscard]] int fd() const { return fd_.get(); }
  // The next signal number, if one waits.
  [[nodiscard]] std::optional<int> Take();

 private:
  explicit SignalQueue(base::UniqueFd fd) : fd_(std::move(fd)) {}
  base::UniqueFd fd_;
};

// The alternate screen with a hidden cursor and keys that arrive one by one. Given back by Leave
// and by the destructor.
class Screen {
 public:
  Screen() = default;
  ~Screen() { Leave(); }
  Screen(const Screen&) = delete;
  Screen& operator=(const Screen&) = delete;

  void Enter();
  void Leave();
  // Replaces what is shown, in one write: no flicker.
  void Show(const std::string& text);

 private:
  bool entered_ = false;
  std::optional<termios> before_;
};

// What a key means to a reader of a drawing that is taller than the screen.
enum class Key : std::uint8_t { kQuit, kUp, kDown, kPageUp, kPageDown, kTop, kBottom, kOther };

// Takes the first key off the front of `bytes`.
[[nodiscard]] Key TakeKey(std::string& bytes);

// The part of a drawing that fits on the screen, above a line that says what is seen and how to go
// on. `offset` is the first line shown; it is brought into range.
[[nodiscard]] std::string ScreenPage(
    const Lines& lines, const std::string& caption, int rows, const Look& look, int& offset);

}  // namespace partita::cli
