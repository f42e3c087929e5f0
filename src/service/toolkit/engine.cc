#include "service/toolkit/engine.h"

#include <algorithm>
#include <array>
#include <string_view>

#include <fmt/format.h>

#include "base/characters.h"
#include "base/text.h"

namespace partita::service::toolkit {

void NoteNotOurs(const std::string& path, EnginePlan& plan) {
  plan.notes.push_back(fmt::format("{} was not written by this command: it stays as it is", path));
}

void NoteTakenBack(const FileChange& change,
                   const std::vector<std::string>& said,
                   EnginePlan& plan) {
  if (change.before != change.after && !change.after) {
    plan.notes.push_back(fmt::format(
        "{} is not as we left it, but has nothing besides ours: it is removed, and a copy kept",
        change.path));
  } else if (!said.empty()) {
    plan.notes.push_back(fmt::format("{} is not as we left it: only our entries are taken back: {}",
                                     change.path, base::Join(said, "; ")));
  }
}

base::Result<void> CheckOrder(const ConfigureOrder& order, bool bare) {
  constexpr std::string_view kLetters =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-";
  static constexpr std::array<std::string_view, 2> kTaken = {"runc", "crun"};
  const std::string& name = order.runtime_name;
  if (name.empty() || name.size() > 100 || name.find_first_not_of(kLetters) != std::string::npos) {
    return base::MakeError(base::ErrorCode::kInvalid, "{} cannot be a runtime's name",
                           base::Quoted(name))
        .WithHint("letters, digits, \"_\", \".\" and \"-\"");
  }
  if (std::find(kTaken.begin(), kTaken.end(), name) != kTaken.end()) {
    return base::MakeError(base::ErrorCode::kInvalid,
                           "the runtime {} is the engine's own and stays what it is", name)
        .WithHint("name ours otherwise: nvidia is what images and documents expect");
  }
  const std::string& path = order.runtime_path;
  const bool is_name = bare && !path.empty() && path.find('/') == std::string::npos;
  if (!order.undo && ((!is_name && !path.starts_with('/')) || base::HasUnprintable(path))) {
    return base::MakeError(base::ErrorCode::kInvalid, "{} is no path that begins with \"/\"",
                           base::Quoted(path))
        .WithHint("an engine runs it from wherever it was started");
  }
  return {};
}

}  // namespace partita::service::toolkit
