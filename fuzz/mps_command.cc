// Any line as a command of the MPS control daemon: it is read, no pid is out of range, and settings
// that it makes reach a server as they are.
#include <string>

#include "fuzz/target.h"
#include "sim/mps/commands.h"
#include "sim/mps/settings.h"

FUZZ_TARGET(mps_command) {
  namespace mps = partita::sim::mps;
  const std::string_view text = partita::fuzz::AsText(data, size);
  const mps::Command command = mps::ParseCommand(text);
  PARTITA_CHECK(command.server <= 0x7FFFFFFF && command.client <= 0x7FFFFFFF);
  PARTITA_CHECK(command.user >= -1 && command.seconds >= -1);
  PARTITA_CHECK(command.device.find(' ') == std::string::npos);
  mps::Settings settings;
  settings.SetPercentage(command.value);
  PARTITA_CHECK(settings.percentage() > 0.0 && settings.percentage() <= 100.0);
  settings.SetLimit(command.device, command.value);
  PARTITA_CHECK(settings.limits().size() <= 1);
  PARTITA_CHECK(mps::Settings::Decoded(settings.Encoded()).limits() == settings.limits());
  return 0;
}
