#include "cli/command_options.h"

#include <unistd.h>

#include "base/environment.h"

namespace partita::cli {

base::Result<CommandOptions> ReadCommandOptions(const base::Invocation& invocation) {
  CommandOptions options;
  options.reader.root = invocation.Get("host-root").value_or("/");
  options.reader.driver_root = invocation.Get("driver-root").value_or("/");
  options.reader.library = invocation.Get("library").value_or("");
  TRY(format, base::ParseOutputFormat(invocation.Get("output").value_or("text")), "--output");
  options.format = format;
  options.wish = {invocation.Get("width"), invocation.Get("color").value_or("auto"),
                  invocation.Has("ascii")};
  TRY(look, ChooseLook(options.wish, Terminal::Of(STDOUT_FILENO), base::ReadVariable));
  options.look = look;
  options.gpus = invocation.GetAll("gpu");
  return options;
}

}  // namespace partita::cli
