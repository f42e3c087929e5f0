// How a gRPC call ends.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"

namespace partita::net::rpc {

// gRPC's own numbers.
enum class StatusCode : std::uint8_t {
  kOk = 0,
  kCancelled = 1,
  kUnknown = 2,
  kInvalidArgument = 3,
  kDeadlineExceeded = 4,
  kNotFound = 5,
  kAlreadyExists = 6,
  kPermissionDenied = 7,
  kResourceExhausted = 8,
  kFailedPrecondition = 9,
  kAborted = 10,
  kOutOfRange = 11,
  kUnimplemented = 12,
  kInternal = 13,
  kUnavailable = 14,
  kDataLoss = 15,
  kUnauthenticated = 16,
};

struct Status {
  StatusCode code = StatusCode::kOk;
  std::string message;
  bool operator==(const Status&) const = default;
};

// As gRPC writes it: "DEADLINE_EXCEEDED".
[[nodiscard]] std::string_view ToString(StatusCode code);
// The one place where our codes become gRPC's. The text has all frames and the hint: kubelet shows
// it and nothing else.
[[nodiscard]] Status StatusOf(const base::Error& error);
// And back. Not for kOk.
[[nodiscard]] base::Error ErrorOf(const Status& status);

}  // namespace partita::net::rpc
