#include "agent/agent.h"

#include <malloc.h>

#include <cstdlib>
#include <string>

#include "base/environment.h"
#include "base/state_file.h"
#include "cli/agent/commands.h"
#include "cli/agent/settings.h"
#include "cli/commands.h"
#include "cli/exit_status.h"
#include "cli/report_error.h"
#include "config/xid_overrides.h"

namespace partita::cli {

namespace {

// The one of the two that engines read which does not outlive a boot.
std::string CdiDirectory() {
  const char* directory = std::getenv("PARTITA_CDI_DIR");
  return directory == nullptr || *directory == '\0' ? "/var/run/cdi" : directory;
}

}  // namespace

int RunAgentCommand(const base::Invocation& invocation) {
  // Threads that wait for the driver come and go; a heap of its own for each grew to four times
  // what is in use (tests/torture/agent-rest).
  mallopt(M_ARENA_MAX, 1);
  config::XidOverridesRead xids = config::ParseXidOverrides(
      base::ReadVariable("DP_DISABLE_HEALTHCHECKS"), base::ReadVariable("DP_ENABLE_HEALTHCHECKS"));
  for (const std::string& warning : xids.warnings) Warn(warning);
  agent::AgentOptions options{
      .config = ReadConfigSource(invocation),
      .run_directory = base::RunDirectory(),
      .state_directory = base::StateDirectory(),
      .cdi_directory = CdiDirectory(),
      // Empty: kubelet's own.
      .device_plugin_directory = base::ReadVariable("PARTITA_DEVICE_PLUGIN_DIR").value_or(""),
      .version = std::string(Version()),
      .xids = std::move(xids.overrides)};
  // What somebody types now is judged now; what is in the file, by the agent.
  if (const auto early = config::DefaultAgentConfig(options.config.overrides); !early.ok())
    return ReportError(early.error());
  return agent::RunAgent(std::move(options)).ok() ? kExitDone : kExitError;
}

base::Command AgentCommand() {
  return {
      .name = "agent",
      .summary = "Run on this node: serve its GPUs until told to stop",
      .description =
          "Runs in the foreground and logs to standard error. It reads /etc/partita/config.yaml; "
          "where that is bad, the last good one stays in force, also across restarts, and where "
          "none is known it runs without serving anything and says so at /readyz.\n\n"
          "One agent runs on a node: a second one waits until the first has ended and takes its "
          "place. SIGHUP reads the configuration again, SIGTERM and SIGINT stop it within two "
          "seconds. Under systemd it says when it is ready, reloading and stopping, and answers "
          "its watchdog.\n\n"
          "/healthz answers while the agent works, /readyz lists what it is to do and what of it "
          "does not work. Commands talk to it through /run/partita/agent.sock.\n\n"
          "DP_ENABLE_HEALTHCHECKS and DP_DISABLE_HEALTHCHECKS name XIDs that do and do not take a "
          "device out, as for NVIDIA's device plugin; health.xids of the configuration wins.",
      .options = SettingOptions(),
      .examples = {{"systemctl enable --now partita-agent", "as a service"},
                   {"partita agent --listen 127.0.0.1:9400 --log-level debug", "to look at it"}},
      .run = RunAgentCommand};
}

}  // namespace partita::cli
