#include "request/mode.h"

#include <array>

#include "base/text.h"

namespace partita::request {
namespace {

struct Word {
  Mode mode;
  std::string_view word;
};
constexpr std::array kWords = {Word{Mode::kCdi, "cdi"}, Word{Mode::kJitCdi, "jit-cdi"},
                               Word{Mode::kLegacy, "legacy"}};

}  // namespace

std::string_view ToString(Mode mode) {
  for (const Word& row : kWords) {
    if (row.mode == mode) return row.word;
  }
  return "";
}

base::Result<Mode> ResolveMode(std::string_view configured, const Request& request, bool prestart) {
  if (configured == "auto") {
    if (request.OnlyQualified()) return Mode::kCdi;
    return prestart ? Mode::kLegacy : Mode::kJitCdi;
  }
  for (const Word& row : kWords) {
    if (row.word == configured) return row.mode;
  }
  const bool known = configured == "csv";
  return base::MakeError(known ? base::ErrorCode::kUnsupported : base::ErrorCode::kInvalid,
                         "{} mode {}", known ? "unsupported" : "invalid", base::Quoted(configured))
      .WithHint("nvidia-container-runtime.mode can be auto, cdi, jit-cdi or legacy");
}

}  // namespace partita::request
