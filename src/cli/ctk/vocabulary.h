// The commands and flags of NVIDIA's nvidia-ctk, and what each is here.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace partita::cli {

enum class CtkUse : std::uint8_t {
  kValue,
  kValues,
  kSwitch,
  kNoEffect,  // with a value; told
  kRefused,   // with a value
};

// A flag of the reference under one of its names, and its name here.
struct CtkFlag {
  std::string_view name;
  CtkUse use;
  std::string_view ours;
  const char* variable = nullptr;
};

struct CtkCommand {
  std::string_view group, verb;  // "cdi", "generate"; the verb may be empty
  std::string_view ours;         // "cdi generate": the command of partita
  std::string_view summary;
  std::span<const CtkFlag> flags;
};
[[nodiscard]] std::span<const CtkCommand> CtkCommands();

// Before the command.
[[nodiscard]] std::span<const CtkFlag> CtkGlobalFlags();

// A command of the reference that is not here, and what does the same.
struct CtkMissing {
  std::string_view command, instead;
};
[[nodiscard]] std::span<const CtkMissing> CtkMissingCommands();

}  // namespace partita::cli
