// Protobuf's wire format, as much of it as the APIs of kubelet use: messages are written and read
// field by field.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace partita::net::rpc {

class WireWriter {
 public:
  WireWriter& Text(std::uint32_t field, std::string_view text);  // left out when empty, as proto3
  WireWriter& Element(std::uint32_t field, std::string_view text);  // of a repeated field: always
  WireWriter& Number(std::uint32_t field, std::uint64_t value);     // varint; left out when 0
  WireWriter& Signed(std::uint32_t field, std::int64_t value);      // int32, int64; left out when 0
  WireWriter& Flag(std::uint32_t field, bool value);                // left out when false
  WireWriter& Message(std::uint32_t field, std::string_view bytes);  // always
  // Of map<string, string>.
  WireWriter& Entry(std::uint32_t field, std::string_view key, std::string_view value);
  [[nodiscard]] std::string Take();

 private:
  WireWriter& Bytes(std::uint32_t field, std::string_view bytes);

  std::string written_;
};

struct WireField {
  enum class Kind : std::uint8_t { kVarint, kFixed64, kBytes, kFixed32 };
  std::uint32_t number = 0;
  Kind kind = Kind::kVarint;
  std::uint64_t value = 0;      // but for kBytes
  std::string_view bytes = {};  // kBytes: a part of the message that is read
  bool operator==(const WireField&) const = default;
};

// Walks over one message, which outlives it. Refuses what is cut off, over-long varints, field
// numbers that protobuf has not, groups. Fields that nobody knows are the caller's to skip.
class WireReader {
 public:
  explicit WireReader(std::string_view message) : rest_(message), size_(message.size()) {}
  // Nothing: the end. After an error it gives the same error again.
  [[nodiscard]] base::Result<std::optional<WireField>> Next();
  // The same for whoever reads hundreds: false is the end, or no message, and Ended says which.
  [[nodiscard]] bool Take(WireField& field);
  [[nodiscard]] base::Result<void> Ended() const;

 private:
  // Each says why not, and is then where that was found; empty: it was taken.
  [[nodiscard]] std::string_view TakeVarint(std::uint64_t& value);
  [[nodiscard]] std::string_view TakePart(std::uint64_t size, std::string_view& part);
  [[nodiscard]] std::string_view TakeField(WireField& field);
  [[nodiscard]] base::Error Refused(std::string_view why) const;

  std::string_view rest_;
  std::size_t size_;
};

}  // namespace partita::net::rpc
