// Exit statuses of partita's own commands (decision: one list for all of them).
#pragma once

namespace partita::cli {

inline constexpr int kExitDone = 0;
inline constexpr int kExitError = 1;
inline constexpr int kExitInvalidInput = 2;
inline constexpr int kExitNotApplied = 3;
inline constexpr int kExitBlocked = 4;
inline constexpr int kExitResetRequired = 5;
inline constexpr int kExitNoDriver = 6;

}  // namespace partita::cli
