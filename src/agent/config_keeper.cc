#include "agent/config_keeper.h"

#include <utility>

#include "base/files.h"
#include "base/state_file.h"

namespace partita::agent {
namespace {

base::StateFile StateOf(const std::string& path) {
  return {.path = path, .name = "config", .version = 1};
}

// No file begins so: YAML has no such character.
std::string TextOrWhy(const base::Result<std::string>& text) {
  return text.ok() ? *text : '\0' + text.error().ToString();
}

}  // namespace

ConfigKeeper::ConfigKeeper(config::AgentConfigSource source, const std::string& state_directory)
    : source_(std::move(source)),
      last_good_(base::JoinPath(state_directory, "last-good/config.yaml")) {}

base::Result<ConfigKeeper::Candidate> ConfigKeeper::Read() {
  base::Result<std::string> read = config::ReadAgentConfigText(source_);
  read_ = TextOrWhy(read);
  TRY(text, std::move(read));
  TRY(config, config::ParseAgentConfig(text, source_.path, source_.overrides));
  TRY_VOID(config::CheckNamedFiles(config));
  return Candidate{std::move(config), std::move(text)};
}

bool ConfigKeeper::Differs() const {
  return TextOrWhy(config::ReadAgentConfigText(source_)) != read_;
}

base::Result<void> ConfigKeeper::Keep(const Candidate& candidate) const {
  const base::StateFile file = StateOf(last_good_);
  // At rest nothing is written, however often it starts.
  const base::Result<base::StateRead> before = base::ReadState(file);
  if (before.ok() && before->payload == candidate.text) return {};
  return base::WriteState(file, candidate.text);
}

ConfigKeeper::Start ConfigKeeper::ReadAtStart() {
  Start start;
  base::Result<Candidate> read = Read();
  if (read.ok()) {
    start.config = std::move(read->config);
    if (const auto kept = Keep(*read); !kept.ok()) start.warning = kept.error().ToString();
    return start;
  }
  start.rejected = std::move(read).error();
  base::Result<base::StateRead> last = base::ReadState(StateOf(last_good_));
  if (!last.ok()) start.warning = last.error().ToString();
  if (last.ok()) start.warning = last->warning;
  if (last.ok() && last->payload) {
    // Its places are those of the file that it was. What it names is not read again: whoever uses
    // a file says when it is bad.
    base::Result<config::AgentConfig> good =
        config::ParseAgentConfig(*last->payload, "last good " + source_.path, source_.overrides);
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
