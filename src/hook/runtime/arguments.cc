#include "hook/runtime/arguments.h"

#include <algorithm>
#include <array>
#include <string_view>

namespace partita::hook {
namespace {

// Commands of runc and crun, but create.
constexpr std::array<std::string_view, 18> kOthers = {
    "checkpoint", "delete", "events", "exec",    "features", "help", "init", "kill",  "list",
    "mounts",     "pause",  "ps",     "restore", "resume",   "run",  "spec", "start", "state"};
// Global flags whose value may be the next word.
constexpr std::array<std::string_view, 6> kWithValue = {"log",  "log-format", "root",
                                                        "criu", "rootless",   "cgroup-manager"};

template <std::size_t N>
bool IsListed(const std::array<std::string_view, N>& words, std::string_view word) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

struct Flag {
  std::string_view name, value;  // without dashes
  bool has_value = false;        // behind '='
};

Flag Split(std::string_view word) {
  word.remove_prefix(std::min(word.find_first_not_of('-'), word.size()));
  const std::size_t equals = word.find('=');
  if (equals == std::string_view::npos) return {word, {}, false};
  return {word.substr(0, equals), word.substr(equals + 1), true};
}

bool IsBundle(std::string_view name) { return name == "b" || name == "bundle"; }

class Reader {
 public:
  explicit Reader(std::span<const std::string> words) : words_(words) {}

  base::Result<RuntimeCall> Read() {
    while (next_ < words_.size()) {
      const std::string& word = words_[next_++];
      if (word.starts_with('-'))
        TakeFlag(Split(word));
      else
        TakeWord(word);
    }
    if (call_.create && lacks_bundle_)
      return base::MakeError(base::ErrorCode::kInvalid, "bundle option requires an argument");
    return call_;
  }

 private:
  void TakeWord(std::string_view word) {
    if (word == "create" && !other_command_) call_.create = true;
    if (!seen_word_ && IsListed(kOthers, word)) other_command_ = true;
    seen_word_ = true;
  }

  void TakeFlag(const Flag& flag) {
    if (flag.name == "version") call_.version = true;
    if (flag.name == "debug") call_.debug = flag.value != "false";
    if (IsBundle(flag.name)) {
      lacks_bundle_ = !flag.has_value && next_ == words_.size();
      call_.bundle = Value(flag);
    } else if (flag.name == "log") {
      call_.log = Value(flag);
    } else if (flag.name == "log-format") {
      call_.log_format = Value(flag);
    } else if (!seen_word_ && IsListed(kWithValue, flag.name)) {
      Value(flag);
    }
  }

  std::string Value(const Flag& flag) {
    if (flag.has_value) return std::string(flag.value);
    return next_ < words_.size() ? words_[next_++] : "";
  }

  std::span<const std::string> words_;
  std::size_t next_ = 0;
  RuntimeCall call_;
  bool seen_word_ = false, other_command_ = false, lacks_bundle_ = false;
};

}  // namespace

base::Result<RuntimeCall> ReadRuntimeArguments(std::span<const std::string> arguments) {
  return Reader(arguments).Read();
}

}  // namespace partita::hook
