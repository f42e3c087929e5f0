#include "cli/status/watch.h"

#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <ctime>

#include <fmt/format.h>

#include "cli/exit_status.h"

namespace partita::cli {

namespace {

using std::chrono::steady_clock;

enum class Event : std::uint8_t { kTick, kKeys, kSignal };

// Waits for the deadline, a signal or a key, whichever comes first.
Event WaitUntil(steady_clock::time_point deadline, const SignalQueue& signals, bool keys) {
  std::array<pollfd, 2> fds = {pollfd{signals.fd(), POLLIN, 0}, pollfd{STDIN_FILENO, POLLIN, 0}};
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - steady_clock::now());
  const int timeout = static_cast<int>(std::max<std::int64_t>(left.count(), 0));
  if (poll(fds.data(), keys ? 2 : 1, timeout) > 0) {
    if (fds[0].revents != 0) return Event::kSignal;
    if (fds[1].revents != 0) return Event::kKeys;
  }
  return Event::kTick;
}

// Ends as the signal would have, so that a shell or a supervisor sees the truth.
[[noreturn]] void DieBy(int number) {
  signal(number, SIG_DFL);
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, number);
  pthread_sigmask(SIG_UNBLOCK, &set, nullptr);
  raise(number);
  _exit(128 + number);
}

bool Ends(int number) { return number == SIGTERM || number == SIGHUP || number == SIGQUIT; }

// When the picture was made, in the reader's time zone: a stopped picture shows by it.
std::string Caption(const WatchPlan& plan) {
  const std::time_t now = std::time(nullptr);
  std::tm local{};
  localtime_r(&now, &local);
  std::array<char, 16> clock{};
  std::strftime(clock.data(), clock.size(), "%H:%M:%S", &local);
  const double seconds = static_cast<double>(plan.interval.count()) / 1000;
  return fmt::format("{}   every {:g} s   q quits", clock.data(), seconds);
}

// The picture on the screen and where in it the reader is.
class Viewer {
 public:
  Viewer(SignalQueue& signals,
         const WatchPlan& plan,
         const std::function<Lines(const Terminal&, Look&)>& draw)
      : signals_(signals), plan_(plan), draw_(draw) {}

  int Run() {
    screen_.Enter();
    std::uint64_t drawn = 0;
    while (!done_) {
      lines_ = draw_(terminal_, look_);
      caption_ = Caption(plan_);
      Show();
      if (plan_.count && ++drawn >= *plan_.count) break;
      const auto deadline = steady_clock::now() + plan_.interval;
      while (!done_ && !redraw_) {
        const Event event = WaitUntil(deadline, signals_, keys_);
        if (event == Event::kTick) break;
        event == Event::kKeys ? ReadKeys() : TakeSignals();
      }
      redraw_ = false;
    }
    screen_.Leave();
    return kExitDone;
  }

 private:
  void Show() {
    screen_.Show(ScreenPage(lines_, caption_, terminal_.rows.value_or(24), look_, offset_));
  }

  void TakeSignals() {
    while (const std::optional<int> number = signals_.Take()) {
      if (*number == SIGINT) done_ = true;
      if (Ends(*number)) {
        screen_.Leave();
        DieBy(*number);
      }
      if (*number == SIGTSTP) {
        screen_.Leave();
        raise(SIGSTOP);
        screen_.Enter();
      }
      if (*number == SIGWINCH || *number == SIGTSTP) {
        terminal_ = Terminal::Of(STDOUT_FILENO);
        redraw_ = true;
      }
    }
  }

  void ReadKeys() {
    std::array<char, 256> buffer{};
    const ssize_t size = read(STDIN_FILENO, buffer.data(), buffer.size());
    // End of input says nothing; asking again would only spin.
    if (size <= 0) {
      keys_ = false;
      return;
    }
    std::string bytes(buffer.data(), static_cast<std::size_t>(size));
    const int page = std::max(terminal_.rows.value_or(24) - 2, 1);
    while (!bytes.empty()) Act(TakeKey(bytes), page);
    if (!done_) Show();
  }

  void Act(Key key, int page) {
    switch (key) {
      case Key::kQuit: done_ = true; return;
      case Key::kUp: --offset_; return;
      case Key::kDown: ++offset_; return;
      case Key::kPageUp: offset_ -= page; return;
      case Key::kPageDown: offset_ += page; return;
      case Key::kTop: offset_ = 0; return;
      case Key::kBottom: offset_ = static_cast<int>(lines_.size()); return;
      case Key::kOther: return;
    }
  }

  SignalQueue& signals_;
  const WatchPlan& plan_;
  const std::function<Lines(const Terminal&, Look&)>& draw_;
  Screen screen_;
  Terminal terminal_ = Terminal::Of(STDOUT_FILENO);
  Look look_;
  Lines lines_;
  std::string caption_;
  int offset_ = 0;
  bool keys_ = isatty(STDIN_FILENO) == 1;
  bool redraw_ = false;
  bool done_ = false;
};

}  // namespace

int WatchOnScreen(SignalQueue& signals,
                  const WatchPlan& plan,
                  const std::function<Lines(const Terminal&, Look&)>& draw) {
  return Viewer(signals, plan, draw).Run();
}

int WatchAsStream(SignalQueue& signals,
                  const WatchPlan& plan,
                  const std::function<std::string()>& next) {
  for (std::uint64_t written = 0;;) {
    const std::string text = next();
    std::fwrite(text.data(), 1, text.size(), stdout);
    // A reader waits for each; when it is gone or the disk is full there is nothing left to do, and
    // the error is reported at the end.
    if (std::fflush(stdout) != 0) return kExitError;
    if (plan.count && ++written >= *plan.count) return kExitDone;
    const auto deadline = steady_clock::now() + plan.interval;
    while (WaitUntil(deadline, signals, false) == Event::kSignal) {
      while (const std::optional<int> number = signals.Take()) {
        if (*number == SIGINT) return kExitDone;
        if (Ends(*number)) DieBy(*number);
        if (*number == SIGTSTP) raise(SIGSTOP);
      }
    }
  }
}

}  // namespace partita::cli
