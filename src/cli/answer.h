// How a command says what it has to say: for people, or as a document for programs.
#pragma once

#include <string>

#include "base/command_line.h"
#include "base/output_format.h"
#include "base/value.h"

namespace partita::cli {

void PrintAs(base::OutputFormat format, const base::Value& document, const std::string& text);

// By --output; of the text, what a terminal would obey is made visible. Returns `status`.
int PrintAnswer(const base::Invocation& invocation,
                const base::Value& document,
                const std::string& text,
                int status);

}  // namespace partita::cli
