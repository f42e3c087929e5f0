#include "net/http_request.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "base/text.h"

namespace partita::net {
namespace {

using Answer = std::variant<HttpRequest, HttpRefusal>;

constexpr std::string_view kTokenMarks = "!#$%&'*+-.^_`|~";

bool IsToken(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
           kTokenMarks.find(c) != std::string_view::npos;
  });
}

bool IsPlain(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) { return c > 0x20 && c < 0x7F; });
}

// Without the line's end, which may be a bare newline.
std::string_view TakeLine(std::string_view& rest) {
  const std::size_t end = rest.find('\n');
  std::string_view line = rest.substr(0, end);
  rest = end == std::string_view::npos ? std::string_view() : rest.substr(end + 1);
  if (line.ends_with('\r')) line.remove_suffix(1);
  return line;
}

// A field that means nothing to us, or the status that it is refused with.
int CheckField(std::string_view line) {
  const std::size_t colon = line.find(':');
  if (colon == std::string_view::npos || !IsToken(line.substr(0, colon))) return 400;
  const std::string name = base::ToLower(line.substr(0, colon));
  const std::string_view value = base::Trim(line.substr(colon + 1));
  // Whatever follows the head would be taken for the next request.
  if (name == "transfer-encoding") return 413;
  if (name == "content-length" && value != "0") return base::ParseUnsigned(value) ? 413 : 400;
  return 0;
}

Answer Parse(std::string_view head) {
  const std::vector<std::string_view> words = base::Split(TakeLine(head), ' ');
  if (words.size() != 3 || !IsToken(words[0])) return HttpRefusal{400};
  if (words[2] != "HTTP/1.1" && words[2] != "HTTP/1.0")
    return HttpRefusal{words[2].starts_with("HTTP/") ? 505 : 400};
  if (!words[1].starts_with('/') || !IsPlain(words[1])) return HttpRefusal{400};
  while (!head.empty()) {
    const std::string_view line = TakeLine(head);
    if (line.empty()) break;
    if (const int refused = CheckField(line); refused != 0) return HttpRefusal{refused};
  }
  if (words[0] != "GET" && words[0] != "HEAD") return HttpRefusal{405};
  const std::size_t mark = words[1].find('?');
  return HttpRequest{std::string(words[0]), std::string(words[1].substr(0, mark)),
                     mark == std::string_view::npos ? "" : std::string(words[1].substr(mark + 1))};
}

// Behind the empty line that ends a head; nothing when there is none yet.
std::optional<std::size_t> EndOfHead(std::string_view input) {
  std::size_t line = 0;
  for (;;) {
    const std::size_t end = input.find('\n', line);
    if (end == std::string_view::npos) return std::nullopt;
    if (end == line || (end == line + 1 && input[line] == '\r')) return end + 1;
    line = end + 1;
  }
}

}  // namespace

std::optional<Answer> TakeHttpRequest(std::string& input) {
  const std::optional<std::size_t> end =
      EndOfHead(std::string_view(input).substr(0, kMostHttpHead));
  if (!end) {
    if (input.size() < kMostHttpHead) return std::nullopt;
    return HttpRefusal{input.find('\n') == std::string::npos ? 414 : 431};
  }
  Answer answer = Parse(std::string_view(input).substr(0, *end));
  input.erase(0, *end);
  return answer;
}

}  // namespace partita::net
