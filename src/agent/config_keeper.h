// The agent's configuration over its life: read at the start, read again when told, and the last
// one that was good kept on disk, so that a bad file takes away nothing that is being served.
#pragma once

#include <optional>
#include <string>

#include "base/result.h"
#include "config/agent_config.h"
#include "config/named/overlay.h"

namespace partita::agent {

class ConfigKeeper {
 public:
  struct Start {
    config::AgentConfig config;
    // False: the file is bad and no good one is known. The configuration is then the defaults, and
    // nothing is to be served.
    bool serving = true;
    // Why the file is not what runs; the log and /readyz or the status say it.
    std::optional<base::Error> rejected;
    // What became of the last good file: damaged, not written.
    std::string warning;
  };
  struct Candidate {
    config::AgentConfig config;
    std::string text;  // of the file
    std::optional<config::Overlay> overlay{};
  };

  ConfigKeeper(config::AgentConfigSource source, const std::string& state_directory);

  // Never fails. A good file becomes the last good one; a bad one is answered with that. Overrides
  // that are wrong have been refused before.
  [[nodiscard]] Start ReadAtStart();
  // The overlay that the node's label names; empty: none. Until that is known, it is the one of the
  // last good configuration. Whether it is another than before.
  [[nodiscard]] bool SelectOverlay(const std::string& name);
  [[nodiscard]] const std::string& overlay() const { return overlay_; }
  // Parsed, and the files that it names read; nothing is changed or kept yet.
  [[nodiscard]] base::Result<Candidate> Read();
  // Whether the files' bytes are others than those that were read last, good or bad.
  [[nodiscard]] bool Differs() const;
  // After all of the agent has taken it.
  [[nodiscard]] base::Result<void> Keep(const Candidate& candidate) const;

  [[nodiscard]] const std::string& path() const { return source_.path; }

 private:
  config::AgentConfigSource source_;
  [[nodiscard]] std::string TextsNow() const;
  [[nodiscard]] std::optional<config::Overlay> LastOverlay() const;

  std::string last_good_, last_overlay_;
  std::string overlay_;
  std::string read_;  // the files' texts, or why there were none
};

}  // namespace partita::agent
