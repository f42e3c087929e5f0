#include "base/result.h"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <system_error>

#include <fmt/format.h>

namespace partita::base {

std::string_view ToString(ErrorCode code) {
  switch (code) {
    case ErrorCode::kInvalid: return "invalid";
    case ErrorCode::kNotFound: return "not-found";
    case ErrorCode::kBusy: return "busy";
    case ErrorCode::kUnavailable: return "unavailable";
    case ErrorCode::kUnsupported: return "unsupported";
    case ErrorCode::kDenied: return "denied";
    case ErrorCode::kConflict: return "conflict";
    case ErrorCode::kTimeout: return "timeout";
    case ErrorCode::kIo: return "io";
    case ErrorCode::kInternal: return "internal";
    case ErrorCode::kNoDriver: return "no-driver";
    case ErrorCode::kNotApplied: return "not-applied";
    case ErrorCode::kResetRequired: return "reset-required";
  }
  return "internal";
}

Error Error::Within(std::string frame) && {
  frames_.insert(frames_.begin(), std::move(frame));
  return std::move(*this);
}

Error Error::As(ErrorCode code) && {
  code_ = code;
  return std::move(*this);
}

Error Error::At(SourcePosition position) && {
  position_ = std::move(position);
  return std::move(*this);
}

Error Error::WithNative(NativeCode native) && {
  native_ = native;
  return std::move(*this);
}

Error Error::WithHint(std::string hint) && {
  hint_ = std::move(hint);
  return std::move(*this);
}

std::string Error::ToString() const {
  std::string text;
  if (position_)
    text += fmt::format("{}:{}:{}: ", position_->file, position_->line, position_->column);
  for (const std::string& frame : frames_) text += frame + ": ";
  text += message_;
  if (native_) {
    text += native_->kind == NativeKind::kNvml ? fmt::format(" (NVML {})", native_->value)
                                               : fmt::format(" (errno {})", native_->value);
  }
  return text;
}

Error ErrnoError(std::string what, int error_number) {
  ErrorCode code = ErrorCode::kIo;
  if (error_number == ENOENT) code = ErrorCode::kNotFound;
  if (error_number == EACCES || error_number == EPERM) code = ErrorCode::kDenied;
  if (error_number == EBUSY) code = ErrorCode::kBusy;
  return Error(code, std::move(what) + ": " + std::generic_category().message(error_number))
      .WithNative({NativeKind::kErrno, error_number});
}

Error ErrnoError(std::string what) { return ErrnoError(std::move(what), errno); }

void CheckFailed(std::string_view expression, std::string_view file, int line) {
  std::fprintf(stderr, "%.*s:%d: check failed: %.*s\n", static_cast<int>(file.size()), file.data(),
               line, static_cast<int>(expression.size()), expression.data());
  std::abort();
}

}  // namespace partita::base
