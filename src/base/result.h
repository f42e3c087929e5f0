#pragma once

#include <cstdint>
#include <cstdlib>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include <fmt/core.h>

namespace partita::base {

// The closed set of reasons that callers may act on. Each border (exit status, gRPC status, Node
// condition) maps it once; nothing else switches on native codes.
enum class ErrorCode : std::uint8_t {
  kInvalid,      // the input is wrong; the same call fails again
  kNotFound,     // the named thing does not exist
  kBusy,         // somebody holds it
  kUnavailable,  // not there now: lost GPU, stale handle
  kUnsupported,  // this hardware or driver cannot do it
  kDenied,       // missing rights
  kConflict,     // contradicts what exists
  kTimeout,      // a deadline passed
  kIo,           // the operating system failed us
  kInternal,     // our own mistake, or an answer that makes no sense
  // How a whole request ended, whatever was behind it.
  kNoDriver,       // no driver answers on this machine
  kNotApplied,     // what is there is not what was asked for
  kResetRequired,  // it waits for a GPU reset or a reboot
};

std::string_view ToString(ErrorCode code);

// A place in a file that a person wrote. Lines and columns count from 1.
struct SourcePosition {
  std::string file;
  int line = 0;
  int column = 0;
  bool operator==(const SourcePosition&) const = default;
};

// Which foreign numbering a native code belongs to.
enum class NativeKind : std::uint8_t { kErrno, kNvml };
struct NativeCode {
  NativeKind kind;
  int value;
  bool operator==(const NativeCode&) const = default;
};

// What went wrong, with the frames that were open when it did, outermost first.
class Error {
 public:
  Error(ErrorCode code, std::string message) : code_(code), message_(std::move(message)) {}

  [[nodiscard]] ErrorCode code() const { return code_; }
  [[nodiscard]] const std::string& message() const { return message_; }
  [[nodiscard]] const std::vector<std::string>& frames() const { return frames_; }
  [[nodiscard]] const std::optional<SourcePosition>& position() const { return position_; }
  [[nodiscard]] const std::optional<NativeCode>& native() const { return native_; }
  [[nodiscard]] const std::string& hint() const { return hint_; }

  // Adds an outer frame: `apply "x"` around `gpu 0: …`.
  [[nodiscard]] Error Within(std::string frame) &&;
  // The same error, meaning this to whoever asked.
  [[nodiscard]] Error As(ErrorCode code) &&;
  [[nodiscard]] Error At(SourcePosition position) &&;
  [[nodiscard]] Error WithNative(NativeCode native) &&;
  // What the reader can do about it; printed on its own line.
  [[nodiscard]] Error WithHint(std::string hint) &&;

  // `file:line:col: frame: frame: message (NVML 19)`, without the hint.
  [[nodiscard]] std::string ToString() const;

  bool operator==(const Error&) const = default;

 private:
  ErrorCode code_;
  std::string message_;
  std::vector<std::string> frames_;
  std::optional<SourcePosition> position_;
  std::optional<NativeCode> native_;
  std::string hint_;
};

// `MakeError(ErrorCode::kNotFound, "no GPU {}", uuid)`.
template <typename... Args>
[[nodiscard]] Error MakeError(ErrorCode code, fmt::format_string<Args...> text, Args&&... args) {
  return Error(code, fmt::format(text, std::forward<Args>(args)...));
}

// From errno as it is now; `what` names the operation and its object.
[[nodiscard]] Error ErrnoError(std::string what);
[[nodiscard]] Error ErrnoError(std::string what, int error_number);

// Ends the process with a message. For programmer mistakes only, never for input or hardware.
[[noreturn]] void CheckFailed(std::string_view expression, std::string_view file, int line);
#define PARTITA_CHECK(condition) \
  ((condition) ? void(0) : ::partita::base::CheckFailed(#condition, __FILE__, __LINE__))

// Either a value or an Error. Reading the wrong one ends the process.
template <typename T>
class [[nodiscard]] Result {
 public:
  // NOLINTNEXTLINE(google-explicit-constructor): `return value;` and `return error;` are the point.
  Result(T value) : state_(std::in_place_index<0>, std::move(value)) {}
  // NOLINTNEXTLINE(google-explicit-constructor)
  Result(Error error) : state_(std::in_place_index<1>, std::move(error)) {}

  [[nodiscard]] bool ok() const { return state_.index() == 0; }
  explicit operator bool() const { return ok(); }

  [[nodiscard]] T& value() & { return *Get(); }
  [[nodiscard]] const T& value() const& { return *Get(); }
  [[nodiscard]] T&& value() && { return std::move(*Get()); }
  [[nodiscard]] T& operator*() & { return *Get(); }
  [[nodiscard]] const T& operator*() const& { return *Get(); }
  [[nodiscard]] T&& operator*() && { return std::move(*Get()); }
  [[nodiscard]] T* operator->() { return Get(); }
  [[nodiscard]] const T* operator->() const { return Get(); }

  [[nodiscard]] const Error& error() const& {
    PARTITA_CHECK(!ok());
    return *std::get_if<1>(&state_);
  }
  [[nodiscard]] Error&& error() && {
    PARTITA_CHECK(!ok());
    return std::move(*std::get_if<1>(&state_));
  }

 private:
  T* Get() {
    PARTITA_CHECK(ok());
    return std::get_if<0>(&state_);
  }
  const T* Get() const {
    PARTITA_CHECK(ok());
    return std::get_if<0>(&state_);
  }
  std::variant<T, Error> state_;
};

template <>
class [[nodiscard]] Result<void> {
 public:
  Result() = default;
  // NOLINTNEXTLINE(google-explicit-constructor)
  Result(Error error) : error_(std::move(error)) {}
  [[nodiscard]] bool ok() const { return !error_.has_value(); }
  explicit operator bool() const { return ok(); }
  [[nodiscard]] const Error& error() const& {
    PARTITA_CHECK(!ok());
    return *error_;
  }
  [[nodiscard]] Error&& error() && {
    PARTITA_CHECK(!ok());
    return std::move(*error_);
  }

 private:
  std::optional<Error> error_;
};

}  // namespace partita::base

#define PARTITA_CONCAT_INNER(a, b) a##b
#define PARTITA_CONCAT(a, b) PARTITA_CONCAT_INNER(a, b)

// TRY(gpu, driver.Open(uuid), "open {}", uuid): declares `gpu`, or returns the error with a frame.
// The frame is optional. The frame's arguments are evaluated only on failure.
#define TRY(name, expression, ...)                               \
  auto PARTITA_CONCAT(partita_result_, __LINE__) = (expression); \
  if (!PARTITA_CONCAT(partita_result_, __LINE__).ok())           \
    return std::move(PARTITA_CONCAT(partita_result_, __LINE__))  \
        .error() __VA_OPT__(.Within(fmt::format(__VA_ARGS__)));  \
  auto name = *std::move(PARTITA_CONCAT(partita_result_, __LINE__))

// The same for Result<void>.
#define TRY_VOID(expression, ...)                                                             \
  do {                                                                                        \
    auto partita_result = (expression);                                                       \
    if (!partita_result.ok())                                                                 \
      return std::move(partita_result).error() __VA_OPT__(.Within(fmt::format(__VA_ARGS__))); \
  } while (false)
