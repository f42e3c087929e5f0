#include "kube/status.h"

#include <utility>
#include <vector>

#include "base/characters.h"
#include "base/json.h"
#include "base/text.h"

namespace partita::kube {
namespace {

using base::ErrorCode;

constexpr std::size_t kMostWords = 1000;

ErrorCode CodeOf(int status) {
  switch (status) {
    case 400:
    case 405:
    case 406:
    case 413:
    case 415:
    case 422: return ErrorCode::kInvalid;
    case 403: return ErrorCode::kDenied;
    case 404: return ErrorCode::kNotFound;
    case 409:
    case kGone: return ErrorCode::kConflict;
    case 408:
    case 504: return ErrorCode::kTimeout;
    case 401:
    case 429: return ErrorCode::kUnavailable;
    default: return status >= 500 && status < 600 ? ErrorCode::kUnavailable : ErrorCode::kInternal;
  }
}

std::string HintOf(int status) {
  if (status == 401) return "the token or client certificate is not, or no longer, good";
  if (status == 403) return "the account needs this right: see the chart's roles";
  return "";
}

std::string TextMember(const base::Value& object, std::string_view key) {
  const base::Value* member = object.Find(key);
  return member != nullptr && member->kind() == base::Value::Kind::kString ? member->AsString()
                                                                           : "";
}

base::Error Refusal(int status, std::string_view words) {
  std::string text = base::Printable(base::Trim(words.substr(0, kMostWords)));
  if (words.size() > kMostWords) text += "…";
  base::Error error = base::MakeError(CodeOf(status), "the API server answers {}{}{}", status,
                                      text.empty() ? "" : ": ", text);
  const std::string hint = HintOf(status);
  return hint.empty() ? error : std::move(error).WithHint(hint);
}

}  // namespace

int CodeOfStatus(const base::Value& object) {
  const base::Value* code = object.Find("code");
  if (code == nullptr || code->kind() != base::Value::Kind::kUnsigned) return 0;
  return code->AsUnsigned() < 1000 ? static_cast<int>(code->AsUnsigned()) : 0;
}

base::Error ErrorOfStatus(int status, const base::Value& object) {
  std::string words = TextMember(object, "message");
  if (words.empty()) words = TextMember(object, "reason");
  return Refusal(status, words);
}

base::Error ErrorOfAnswer(int status, std::string_view body) {
  const auto object = base::ParseJson(body);
  if (object.ok() && object->kind() == base::Value::Kind::kMap)
    return ErrorOfStatus(status, *object);
  // A proxy's page, or plain text.
  return Refusal(status, base::Trim(body).starts_with('<') ? "" : body);
}

base::Result<base::Value> ObjectOf(const net::HttpClientAnswer& answer) {
  if (answer.status < 200 || answer.status >= 300) return ErrorOfAnswer(answer.status, answer.body);
  auto object = base::ParseJson(answer.body);
  if (!object.ok()) return std::move(object).error().As(ErrorCode::kInternal);
  if (object->kind() != base::Value::Kind::kMap)
    return base::Error(ErrorCode::kInternal, "the API server answers no object");
  return object;
}

std::optional<std::chrono::seconds> RetryAfter(const net::HttpHeaders& headers) {
  const auto found = headers.find("retry-after");
  if (found == headers.end()) return std::nullopt;
  const auto seconds = base::ParseUnsigned(found->second);
  constexpr std::uint64_t kDay = 86'400;
  if (!seconds || *seconds > kDay) return std::nullopt;
  return std::chrono::seconds(*seconds);
}

std::string ResourceOf(std::string_view path) {
  std::vector<std::string_view> words = base::Split(path.substr(0, path.find('?')), '/');
  std::size_t at = 0;
  while (at < words.size() && words[at] != "api" && words[at] != "apis") ++at;
  if (at == words.size()) return std::string(path);
  at += words[at] == "api" ? 2 : 3;
  // A namespace is a place of others' objects, unless it is the object itself.
  if (at + 2 < words.size() && words[at] == "namespaces") at += 2;
  if (at >= words.size()) return std::string(path);
  std::string resource(words[at]);
  if (at + 2 < words.size()) resource.append("/").append(words[at + 2]);
  return resource;
}

}  // namespace partita::kube
