#include "net/rpc/status.h"

#include <array>
#include <utility>

namespace partita::net::rpc {
namespace {

constexpr std::array<std::string_view, 17> kNames = {
    "OK",        "CANCELLED",      "UNKNOWN",           "INVALID_ARGUMENT",   "DEADLINE_EXCEEDED",
    "NOT_FOUND", "ALREADY_EXISTS", "PERMISSION_DENIED", "RESOURCE_EXHAUSTED", "FAILED_PRECONDITION",
    "ABORTED",   "OUT_OF_RANGE",   "UNIMPLEMENTED",     "INTERNAL",           "UNAVAILABLE",
    "DATA_LOSS", "UNAUTHENTICATED"};

StatusCode CodeOf(base::ErrorCode code) {
  using base::ErrorCode;
  switch (code) {
    case ErrorCode::kInvalid: return StatusCode::kInvalidArgument;
    case ErrorCode::kNotFound: return StatusCode::kNotFound;
    case ErrorCode::kBusy: return StatusCode::kFailedPrecondition;
    case ErrorCode::kUnavailable: return StatusCode::kUnavailable;
    case ErrorCode::kUnsupported: return StatusCode::kUnimplemented;
    case ErrorCode::kDenied: return StatusCode::kPermissionDenied;
    case ErrorCode::kConflict: return StatusCode::kAlreadyExists;
    case ErrorCode::kTimeout: return StatusCode::kDeadlineExceeded;
    case ErrorCode::kIo:
    case ErrorCode::kInternal: return StatusCode::kInternal;
    case ErrorCode::kNoDriver: return StatusCode::kUnavailable;
    case ErrorCode::kNotApplied:
    case ErrorCode::kResetRequired: return StatusCode::kFailedPrecondition;
  }
  return StatusCode::kInternal;
}

base::ErrorCode CodeOf(StatusCode code) {
  using base::ErrorCode;
  switch (code) {
    case StatusCode::kCancelled:
    case StatusCode::kUnavailable: return ErrorCode::kUnavailable;
    case StatusCode::kInvalidArgument:
    case StatusCode::kOutOfRange: return ErrorCode::kInvalid;
    case StatusCode::kDeadlineExceeded: return ErrorCode::kTimeout;
    case StatusCode::kNotFound: return ErrorCode::kNotFound;
    case StatusCode::kAlreadyExists:
    case StatusCode::kAborted: return ErrorCode::kConflict;
    case StatusCode::kPermissionDenied:
    case StatusCode::kUnauthenticated: return ErrorCode::kDenied;
    case StatusCode::kResourceExhausted:
    case StatusCode::kFailedPrecondition: return ErrorCode::kBusy;
    case StatusCode::kUnimplemented: return ErrorCode::kUnsupported;
    // A plain error of a Go program arrives as kUnknown.
    case StatusCode::kUnknown:
    case StatusCode::kInternal:
    case StatusCode::kDataLoss: return ErrorCode::kInternal;
    case StatusCode::kOk: break;
  }
  return ErrorCode::kInternal;
}

}  // namespace

std::string_view ToString(StatusCode code) {
  const auto index = static_cast<std::size_t>(code);
  return index < kNames.size() ? kNames[index] : "UNKNOWN";
}

Status StatusOf(const base::Error& error) {
  Status status{.code = CodeOf(error.code()), .message = error.ToString()};
  if (!error.hint().empty()) status.message += "; " + error.hint();
  return status;
}

base::Error ErrorOf(const Status& status) {
  PARTITA_CHECK(status.code != StatusCode::kOk);
  if (!status.message.empty()) return base::Error(CodeOf(status.code), status.message);
  return base::MakeError(CodeOf(status.code), "gRPC status {} without a word",
                         ToString(status.code));
}

}  // namespace partita::net::rpc
