#include "net/rpc/wire.h"

#include <utility>

namespace partita::net::rpc {
namespace {

// The number behind a field's own, in its first varint.
constexpr std::uint64_t kVarint = 0, kFixed64 = 1, kBytes = 2, kFixed32 = 5;
constexpr std::uint64_t kMostNumber = (1U << 29) - 1;
constexpr int kMostVarintBytes = 10;

void AppendVarint(std::string& to, std::uint64_t value) {
  for (; value >= 0x80; value >>= 7U) to += static_cast<char>((value & 0x7FU) | 0x80U);
  to += static_cast<char>(value);
}

std::uint64_t LittleEndian(std::string_view bytes) {
  std::uint64_t value = 0;
  for (std::size_t i = bytes.size(); i-- > 0;)
    value = (value << 8U) | static_cast<unsigned char>(bytes[i]);
  return value;
}

}  // namespace

WireWriter& WireWriter::Bytes(std::uint32_t field, std::string_view bytes) {
  AppendVarint(written_, (std::uint64_t{field} << 3U) | kBytes);
  AppendVarint(written_, bytes.size());
  written_ += bytes;
  return *this;
}

WireWriter& WireWriter::Text(std::uint32_t field, std::string_view text) {
  return text.empty() ? *this : Bytes(field, text);
}

WireWriter& WireWriter::Element(std::uint32_t field, std::string_view text) {
  return Bytes(field, text);
}

WireWriter& WireWriter::Number(std::uint32_t field, std::uint64_t value) {
  if (value == 0) return *this;
  AppendVarint(written_, (std::uint64_t{field} << 3U) | kVarint);
  AppendVarint(written_, value);
  return *this;
}

WireWriter& WireWriter::Signed(std::uint32_t field, std::int64_t value) {
  return Number(field, static_cast<std::uint64_t>(value));
}

WireWriter& WireWriter::Flag(std::uint32_t field, bool value) {
  return Number(field, value ? 1 : 0);
}

WireWriter& WireWriter::Message(std::uint32_t field, std::string_view bytes) {
  return Bytes(field, bytes);
}

WireWriter& WireWriter::Entry(std::uint32_t field, std::string_view key, std::string_view value) {
  // Both are there even when empty: so protobuf's own writers do it.
  return Bytes(field, WireWriter().Element(1, key).Element(2, value).Take());
}

std::string WireWriter::Take() { return std::exchange(written_, {}); }

base::Error WireReader::Refused(std::string_view why) const {
  return base::MakeError(base::ErrorCode::kInvalid, "not a protobuf message: byte {} of {}: {}",
                         size_ - rest_.size(), size_, why);
}

std::string_view WireReader::TakeVarint(std::uint64_t& value) {
  value = 0;
  for (int i = 0; i < kMostVarintBytes; ++i) {
    if (static_cast<std::size_t>(i) >= rest_.size()) return "a number is cut off";
    const auto byte = static_cast<unsigned char>(rest_[static_cast<std::size_t>(i)]);
    // Of the tenth byte only one bit has a place.
    if (i == kMostVarintBytes - 1 && byte > 1) return "a number has more than 64 bits";
    value |= std::uint64_t{byte & 0x7FU} << (7U * static_cast<unsigned>(i));
    if ((byte & 0x80U) != 0) continue;
    rest_.remove_prefix(static_cast<std::size_t>(i) + 1);
    return "";
  }
  return "a number has more than 10 bytes";
}

std::string_view WireReader::TakePart(std::uint64_t size, std::string_view& part) {
  if (size > rest_.size()) return "a field is cut off";
  part = rest_.substr(0, size);
  rest_.remove_prefix(size);
  return "";
}

std::string_view WireReader::TakeField(WireField& field) {
  const std::string_view begin = rest_;
  std::uint64_t tag = 0;
  std::string_view why = TakeVarint(tag);
  if (!why.empty()) return why;
  const std::uint64_t kind = tag & 7U;
  const bool numbered = tag >> 3U != 0 && tag >> 3U <= kMostNumber;
  if (!numbered || (kind != kVarint && kind != kBytes && kind != kFixed64 && kind != kFixed32)) {
    rest_ = begin;
    return numbered ? "groups and unknown kinds are not read" : "no field has such a number";
  }
  field.number = static_cast<std::uint32_t>(tag >> 3U);
  if (kind == kVarint) return TakeVarint(field.value);
  if (kind == kBytes) {
    std::uint64_t size = 0;
    why = TakeVarint(size);
    field.kind = WireField::Kind::kBytes;
    return why.empty() ? TakePart(size, field.bytes) : why;
  }
  const bool wide = kind == kFixed64;
  std::string_view bytes;
  why = TakePart(wide ? 8 : 4, bytes);
  field.kind = wide ? WireField::Kind::kFixed64 : WireField::Kind::kFixed32;
  field.value = LittleEndian(bytes);
  return why;
}

bool WireReader::Take(WireField& field) {
  if (rest_.empty()) return false;
  WireReader ahead = *this;
  field = {};
  if (!ahead.TakeField(field).empty()) return false;
  *this = ahead;
  return true;
}

base::Result<void> WireReader::Ended() const {
  if (rest_.empty()) return {};
  WireReader ahead = *this;
  WireField field;
  const std::string_view why = ahead.TakeField(field);
  PARTITA_CHECK(!why.empty());
  return ahead.Refused(why);
}

base::Result<std::optional<WireField>> WireReader::Next() {
  WireField field;
  if (Take(field)) return std::optional<WireField>(field);
  TRY_VOID(Ended());
  return std::optional<WireField>();
}

}  // namespace partita::net::rpc
