#include "cli/draw/screen.h"

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <string_view>
#include <utility>

#include <fmt/format.h>

namespace partita::cli {

namespace {

sigset_t WatchedSignals() {
  sigset_t set;
  sigemptyset(&set);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGTSTP, SIGWINCH}) {
    sigaddset(&set, signal);
  }
  return set;
}

// Best effort: a terminal that is gone ends the program by SIGHUP anyway.
void WriteAll(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t written = write(fd, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return;
    bytes.remove_prefix(static_cast<std::size_t>(written));
  }
}

bool InForeground() { return tcgetpgrp(STDIN_FILENO) == getpgrp(); }

}  // namespace

base::Result<SignalQueue> SignalQueue::Create() {
  const sigset_t set = WatchedSignals();
  base::UniqueFd fd(signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK));
  if (!fd.valid()) return base::ErrnoError("watch for signals");
  pthread_sigmask(SIG_BLOCK, &set, nullptr);
  return SignalQueue(std::move(fd));
}

SignalQueue::SignalQueue(SignalQueue&& other) noexcept : fd_(std::move(other.fd_)) {}

SignalQueue::~SignalQueue() {
  if (!fd_.valid()) return;
  const sigset_t set = WatchedSignals();
  pthread_sigmask(SIG_UNBLOCK, &set, nullptr);
}

std::optional<int> SignalQueue::Take() {
  signalfd_siginfo taken{};
  if (read(fd_.get(), &taken, sizeof taken) != static_cast<ssize_t>(sizeof taken)) {
    return std::nullopt;
  }
  return static_cast<int>(taken.ssi_signo);
}

void Screen::Enter() {
  if (entered_) return;
  entered_ = true;
  // Only the foreground may change the terminal; a background job would be stopped for trying.
  termios now{};
  if (InForeground() && tcgetattr(STDIN_FILENO, &now) == 0) {
    before_ = now;
    now.c_lflag &= ~static_cast<tcflag_t>(ICANON | ECHO);
    now.c_cc[VMIN] = 0;
    now.c_cc[VTIME] = 0;
    tcsetattr(STDIN_FILENO, TCSADRAIN, &now);
  }
  // Lines that are too long for a very narrow terminal are cut there instead of wrapped.
  WriteAll(STDOUT_FILENO, "\x1b[?1049h\x1b[?25l\x1b[?7l");
}

void Screen::Leave() {
  if (!entered_) return;
  entered_ = false;
  WriteAll(STDOUT_FILENO, "\x1b[?7h\x1b[?25h\x1b[?1049l");
  if (before_ && InForeground()) tcsetattr(STDIN_FILENO, TCSADRAIN, &*before_);
  before_.reset();
}

void Screen::Show(const std::string& text) {
  // Terminals that know mode 2026 show the whole picture at once; others ignore it. Each line is
  // cleared behind its end instead of the screen before its start.
  std::string bytes = "\x1b[?2026h\x1b[H";
  for (const char c : text) {
    if (c == '\n') bytes += "\x1b[K";
    bytes += c;
  }
  bytes += "\x1b[K\x1b[J\x1b[?2026l";
  WriteAll(STDOUT_FILENO, bytes);
}

Key TakeKey(std::string& bytes) {
  struct Spelling {
    std::string_view bytes;
    Key key;
  };
  static constexpr std::array kSpellings = {
      Spelling{"\x1b[A", Key::kUp},      Spelling{"\x1b[B", Key::kDown},
      Spelling{"\x1bOA", Key::kUp},      Spelling{"\x1bOB", Key::kDown},
      Spelling{"\x1b[5~", Key::kPageUp}, Spelling{"\x1b[6~", Key::kPageDown},
      Spelling{"\x1b[H", Key::kTop},     Spelling{"\x1b[F", Key::kBottom},
      Spelling{"q", Key::kQuit},         Spelling{"Q", Key::kQuit},
      Spelling{"k", Key::kUp},           Spelling{"j", Key::kDown},
      Spelling{"b", Key::kPageUp},       Spelling{" ", Key::kPageDown},
      Spelling{"g", Key::kTop},          Spelling{"G", Key::kBottom},
  };
  for (const Spelling& spelling : kSpellings) {
    if (bytes.starts_with(spelling.bytes)) {
      bytes.erase(0, spelling.bytes.size());
      return spelling.key;
    }
  }
  // An unknown sequence goes as a whole, or its letters would be taken for keys.
  bytes.erase(0, bytes.starts_with("\x1b") ? bytes.size() : 1);
  return Key::kOther;
}

std::string ScreenPage(
    const Lines& lines, const std::string& caption, int rows, const Look& look, int& offset) {
  const int room = std::max(rows - 1, 1);
  const int count = static_cast<int>(lines.size());
  offset = std::clamp(offset, 0, std::max(count - room, 0));
  const int end = std::min(offset + room, count);
  const Lines page(lines.begin() + offset, lines.begin() + end);
  std::string text = ToString(page, look.colour);
  for (int i = end - offset; i < room; ++i) text += '\n';
  std::string foot = caption;
  if (count > room) {
    foot += fmt::format("   lines {} to {} of {}, arrows and space move", offset + 1, end, count);
  }
  return text + Line().Add(Fit(foot, look.width, look.glyphs()), Ink::kFaint).ToString(look.colour);
}

}  // namespace partita::cli
