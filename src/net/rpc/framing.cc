#include "net/rpc/framing.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <utility>

#include <fmt/format.h>

#include "base/characters.h"

namespace partita::net::rpc {
namespace {

constexpr std::size_t kHead = 5;
constexpr std::size_t kMostText = 4096;
constexpr std::int64_t kMostTimeout = 99'999'999;  // eight digits

struct Unit {
  char letter;
  Duration length;
};
constexpr std::array<Unit, 6> kUnits = {{{'n', std::chrono::nanoseconds(1)},
                                         {'u', std::chrono::microseconds(1)},
                                         {'m', std::chrono::milliseconds(1)},
                                         {'S', std::chrono::seconds(1)},
                                         {'M', std::chrono::minutes(1)},
                                         {'H', std::chrono::hours(1)}}};

bool IsPlain(char c) { return c >= ' ' && c <= '~' && c != '%'; }

std::optional<unsigned> HexDigit(char c) {
  if (c >= '0' && c <= '9') return static_cast<unsigned>(c - '0');
  if (c >= 'A' && c <= 'F') return static_cast<unsigned>(c - 'A' + 10);
  if (c >= 'a' && c <= 'f') return static_cast<unsigned>(c - 'a' + 10);
  return {};
}

}  // namespace

std::string Framed(std::string_view message) {
  const auto size = static_cast<std::uint32_t>(message.size());
  std::string framed;
  framed.reserve(kHead + message.size());
  framed += '\0';
  for (const unsigned shift : {24U, 16U, 8U, 0U}) framed += static_cast<char>(size >> shift);
  framed += message;
  return framed;
}

Status OneMessage::Add(std::string_view bytes, std::size_t most) {
  if (bytes.empty()) return {};
  if (!size_) {
    const std::string_view head = bytes.substr(0, kHead - head_.size());
    head_ += head;
    bytes.remove_prefix(head.size());
    if (head_[0] != '\0') {
      return {StatusCode::kUnimplemented,
              "the message is compressed, which is not understood here; send it as it is"};
    }
    if (head_.size() < kHead) return {};
    std::uint32_t size = 0;
    for (std::size_t i = 1; i < kHead; ++i)
      size = (size << 8U) | static_cast<unsigned char>(head_[i]);
    size_ = size;
    if (size > most) {
      return {StatusCode::kResourceExhausted,
              fmt::format("the message has {} bytes; {} are taken at most", size, most)};
    }
  }
  if (bytes.size() > *size_ - message_.size())
    return {StatusCode::kUnimplemented, "there is more than the one message that belongs here"};
  message_ += bytes;
  return {};
}

std::string PercentEncoded(std::string_view text) {
  std::string encoded;
  while (!text.empty()) {
    const std::string_view next = text.substr(0, base::DecodeCharacter(text).bytes);
    const std::size_t whole = encoded.size();
    for (const char c : next) {
      if (IsPlain(c))
        encoded += c;
      else
        encoded += fmt::format("%{:02X}", static_cast<unsigned char>(c));
    }
    if (encoded.size() > kMostText) {
      encoded.resize(whole);
      break;
    }
    text.remove_prefix(next.size());
  }
  return encoded;
}

std::string PercentDecoded(std::string_view text) {
  std::string decoded;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto high = text[i] == '%' && i + 2 < text.size() ? HexDigit(text[i + 1]) : std::nullopt;
    const auto low = high ? HexDigit(text[i + 2]) : std::nullopt;
    if (!low) {
      decoded += text[i];
      continue;
    }
    decoded += static_cast<char>((*high << 4U) | *low);
    i += 2;
  }
  return decoded;
}

std::optional<Duration> ParseTimeout(std::string_view text) {
  if (text.size() < 2 || text.size() > 9) return {};
  const auto unit = std::find_if(kUnits.begin(), kUnits.end(),
                                 [&](const Unit& each) { return each.letter == text.back(); });
  std::int64_t count = 0;
  const char* const end = text.data() + text.size() - 1;
  const auto read = std::from_chars(text.data(), end, count);
  if (unit == kUnits.end() || read.ec != std::errc() || read.ptr != end || count < 0) return {};
  // Eight digits of hours are more than a Duration has room for; nobody lives to see the end.
  if (count > Duration::max() / unit->length) return Duration::max();
  return unit->length * count;
}

std::string FormatTimeout(Duration timeout) {
  for (const Unit& unit : kUnits) {
    if (unit.letter == 'n') continue;
    const std::int64_t count =
        timeout / unit.length + (timeout % unit.length > Duration::zero() ? 1 : 0);
    if (count <= kMostTimeout)
      return fmt::format("{}{}", std::max<std::int64_t>(count, 0), unit.letter);
  }
  return fmt::format("{}H", kMostTimeout);
}

}  // namespace partita::net::rpc
