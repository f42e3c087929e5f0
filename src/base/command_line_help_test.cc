// Everything that is generated from the command table, as whole texts.
#include <gtest/gtest.h>

#include "base/command_line.h"
#include "base/command_line_fixture.h"

namespace partita::base {
namespace {

using Words = std::vector<std::string>;

TEST(HelpText, OfTheProgram) {
  EXPECT_EQ(HelpText(SampleProgram(), {}), R"TEXT(gpu-tool - look at the GPUs of this machine

Usage: gpu-tool [OPTIONS] COMMAND

One program for everything that happens to a GPU on a node, from looking at it
to cutting it into slices.

It never changes anything without being told to.

Commands:
  status      show GPUs, slices and who uses them
  mig         slices
  run         run a program with one GPU
  completion  print a completion script

Options:
      --driver-root DIR  where the driver is installed (default /; environment
                         GPU_DRIVER_ROOT)
  -v, --verbose          say more
  -h, --help             show this help
      --version          show the version

Examples:
  gpu-tool status
      show what is there

Environment:
  NO_COLOR  set to anything: no colours

Exit status:
  0  done
  1  error
  2  invalid input

"gpu-tool COMMAND --help" explains a command.
)TEXT");
}

TEST(HelpText, OfACommand) {
  EXPECT_EQ(HelpText(SampleProgram(), Words{"status"}),
            R"TEXT(gpu-tool status - show GPUs, slices and who uses them

Usage: gpu-tool status [OPTIONS]

Options:
  -o, --output FORMAT  how to show it (text, json or yaml; default text;
                       environment GPU_OUTPUT)
  -w, --watch          keep showing it (environment GPU_WATCH)
      --gpu ID         only this GPU (can be given several times)
  -h, --help           show this help

Global options:
      --driver-root DIR  where the driver is installed (default /; environment
                         GPU_DRIVER_ROOT)
  -v, --verbose          say more

Examples:
  gpu-tool status
  gpu-tool status -o json
      the same for programs
)TEXT");
}

TEST(HelpText, OfACommandWithArguments) {
  EXPECT_EQ(HelpText(SampleProgram(), Words{"mig", "apply"}),
            R"TEXT(gpu-tool mig apply - bring a GPU to a layout

Usage: gpu-tool mig apply [OPTIONS] LAYOUT [GPU...]

Keeps the slices that are already right.

Arguments:
  LAYOUT  its name in the file
  GPU     which

Options:
  -f, --config-file FILE  the layouts (required)
  -h, --help              show this help

Global options:
      --driver-root DIR  where the driver is installed (default /; environment
                         GPU_DRIVER_ROOT)
  -v, --verbose          say more
)TEXT");
}

TEST(HelpText, OfACommandThatRunsAnother) {
  EXPECT_EQ(HelpText(SampleProgram(), Words{"run"}),
            R"TEXT(gpu-tool run - run a program with one GPU

Usage: gpu-tool run [OPTIONS] GPU [--] PROGRAM...

Arguments:
  GPU  index or UUID

Options:
  -h, --help  show this help

Global options:
      --driver-root DIR  where the driver is installed (default /; environment
                         GPU_DRIVER_ROOT)
  -v, --verbose          say more
)TEXT");
}

TEST(ManPage, HasEveryCommand) {
  EXPECT_EQ(ManPage(SampleProgram()), R"TEXT(.TH GPU\-TOOL 1 "" "gpu\-tool 0.1.0" "User Commands"
.SH NAME
gpu\-tool \- look at the GPUs of this machine
.SH SYNOPSIS
gpu\-tool [OPTIONS] COMMAND
.SH DESCRIPTION
One program for everything that happens to a GPU on a node, from looking at it to cutting it into slices.
.PP
It never changes anything without being told to.
.SH OPTIONS
.TP
\fB\-\-driver\-root\fR \fIDIR\fR
where the driver is installed (default /; environment GPU_DRIVER_ROOT)
.TP
\fB\-v\fR, \fB\-\-verbose\fR
say more
.TP
\fB\-h\fR, \fB\-\-help\fR
show help; every command takes it
.TP
\fB\-\-version\fR
show the version
.SH COMMANDS
.SS gpu\-tool status [OPTIONS]
show GPUs, slices and who uses them.
.TP
\fB\-o\fR, \fB\-\-output\fR \fIFORMAT\fR
how to show it (text, json or yaml; default text; environment GPU_OUTPUT)
.TP
\fB\-w\fR, \fB\-\-watch\fR
keep showing it (environment GPU_WATCH)
.TP
\fB\-\-gpu\fR \fIID\fR
only this GPU (can be given several times)
.PP
.in +4
.nf
gpu\-tool status
.fi
.in
.PP
the same for programs:
.PP
.in +4
.nf
gpu\-tool status \-o json
.fi
.in
.SS gpu\-tool mig [OPTIONS] COMMAND
slices.
.SS gpu\-tool mig apply [OPTIONS] LAYOUT [GPU...]
Keeps the slices that are already right.
.TP
\fILAYOUT\fR
its name in the file
.TP
\fIGPU\fR
which
.TP
\fB\-f\fR, \fB\-\-config\-file\fR \fIFILE\fR
the layouts (required)
.SS gpu\-tool run [OPTIONS] GPU [\-\-] PROGRAM...
run a program with one GPU.
.TP
\fIGPU\fR
index or UUID
.SS gpu\-tool completion [OPTIONS] SHELL
print a completion script.
.TP
\fISHELL\fR
which (bash, zsh or fish)
.SH EXAMPLES
.PP
show what is there:
.PP
.in +4
.nf
gpu\-tool status
.fi
.in
.SH ENVIRONMENT
.TP
\fBNO_COLOR\fR
set to anything: no colours
.SH EXIT STATUS
.TP
\fB0\fR
done
.TP
\fB1\fR
error
.TP
\fB2\fR
invalid input
)TEXT");
}

}  // namespace
}  // namespace partita::base
