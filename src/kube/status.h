// What the API server's answers mean.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "base/value.h"
#include "net/http/messages.h"

namespace partita::kube {

inline constexpr int kGone = 410;

// An answer that is no success, with the server's own words (bounded, printable): 400, 405, 413,
// 415, 422 kInvalid; 403 kDenied; 404 kNotFound; 409, 410 kConflict; 408, 504 kTimeout; 401, which
// the next token ends, 429 and every other 5xx kUnavailable; what makes no sense kInternal.
[[nodiscard]] base::Error ErrorOfAnswer(int status, std::string_view body);
// The same of a Status object, as an event of a watch has it.
[[nodiscard]] base::Error ErrorOfStatus(int status, const base::Value& object);
// The `code` of a Status object; 0: none.
[[nodiscard]] int CodeOfStatus(const base::Value& object);

// The object, or the error.
[[nodiscard]] base::Result<base::Value> ObjectOf(const net::HttpClientAnswer& answer);

// Seconds, as Kubernetes writes it; nothing for dates and nonsense.
[[nodiscard]] std::optional<std::chrono::seconds> RetryAfter(const net::HttpHeaders& headers);

// "nodes", "nodes/status", "configmaps": the resource of a path, as RBAC names it, for counts.
[[nodiscard]] std::string ResourceOf(std::string_view path);

}  // namespace partita::kube
