#include "agent/config_keeper.h"

#include <utility>

#include "base/files.h"
#include "base/state_file.h"

namespace partita::agent {
namespace {

base::StateFile StateOf(const std::string& path, const char* name) {
  return {.path = path, .name = name, .version = 1};
}

// No file begins so: YAML has no such character.
std::string TextOrWhy(const base::Result<std::string>& text) {
  return text.ok() ? *text : '\0' + text.error().ToString();
}

// At rest nothing is written, however often it starts.
base::Result<void> WriteIfOther(const base::StateFile& file, const std::string& text) {
  const base::Result<base::StateRead> before = base::ReadState(file);
  if (before.ok() && before->payload.value_or("") == text) return {};
  return base::WriteState(file, text);
}

}  // namespace

ConfigKeeper::ConfigKeeper(config::AgentConfigSource source, const std::string& state_directory)
    : source_(std::move(source)),
      last_good_(base::JoinPath(state_directory, "last-good/config.yaml")),
      last_overlay_(base::JoinPath(state_directory, "last-good/overlay.yaml")) {}

bool ConfigKeeper::SelectOverlay(const std::string& name) {
  return std::exchange(overlay_, name) != name;
}

std::string ConfigKeeper::TextsNow() const {
  std::string texts = TextOrWhy(config::ReadAgentConfigText(source_));
  if (overlay_.empty()) return texts;
  const base::Result<config::Overlay> overlay = config::ReadOverlay(source_.path, overlay_);
  return texts + '\0' + overlay_ + '\0' +
         (overlay.ok() ? overlay->text : '\0' + overlay.error().ToString());
}

base::Result<ConfigKeeper::Candidate> ConfigKeeper::Read() {
  read_ = TextsNow();
  Candidate candidate;
  TRY(text, config::ReadAgentConfigText(source_));
  candidate.text = std::move(text);
  if (!overlay_.empty()) {
    TRY(overlay, config::ReadOverlay(source_.path, overlay_));
    candidate.overlay = std::move(overlay);
  }
  TRY(config, config::ParseAgentConfigOver(candidate.text, source_.path, candidate.overlay,
                                           source_.overrides));
  TRY_VOID(config::CheckNamedFiles(config));
  candidate.config = std::move(config);
  return candidate;
}

bool ConfigKeeper::Differs() const { return TextsNow() != read_; }

base::Result<void> ConfigKeeper::Keep(const Candidate& candidate) const {
  // The overlay first: without the file below it, it is nothing.
  const std::string overlay =
      candidate.overlay ? candidate.overlay->name + "\n" + candidate.overlay->text : "";
  TRY_VOID(WriteIfOther(StateOf(last_overlay_, "overlay"), overlay));
  return WriteIfOther(StateOf(last_good_, "config"), candidate.text);
}

std::optional<config::Overlay> ConfigKeeper::LastOverlay() const {
  const base::Result<base::StateRead> kept = base::ReadState(StateOf(last_overlay_, "overlay"));
  if (!kept.ok() || kept->payload.value_or("").empty()) return std::nullopt;
  const std::size_t end = kept->payload->find('\n');
  if (end == std::string::npos) return std::nullopt;
  const std::string name = kept->payload->substr(0, end);
  return config::Overlay{name, kept->payload->substr(end + 1), "last good overlay " + name};
}

ConfigKeeper::Start ConfigKeeper::ReadAtStart() {
  Start start;
  const std::optional<config::Overlay> last_overlay = LastOverlay();
  overlay_ = last_overlay ? last_overlay->name : "";
  base::Result<Candidate> read = Read();
  if (read.ok()) {
    start.config = std::move(read->config);
    if (const auto kept = Keep(*read); !kept.ok()) start.warning = kept.error().ToString();
    return start;
  }
  start.rejected = std::move(read).error();
  base::Result<base::StateRead> last = base::ReadState(StateOf(last_good_, "config"));
  if (!last.ok()) start.warning = last.error().ToString();
  if (last.ok()) start.warning = last->warning;
  if (last.ok() && last->payload) {
    // Its places are those of the file that it was. What it names is not read again: whoever uses
    // a file says when it is bad.
    base::Result<config::AgentConfig> good = config::ParseAgentConfigOver(
        *last->payload, "last good " + source_.path, last_overlay, source_.overrides);
    if (good.ok()) {
      start.config = *std::move(good);
      return start;
    }
    start.warning = good.error().ToString();
  }
  start.serving = false;
  base::Result<config::AgentConfig> defaults = config::DefaultAgentConfig(source_.overrides);
  PARTITA_CHECK(defaults.ok());
  start.config = *std::move(defaults);
  return start;
}

}  // namespace partita::agent
