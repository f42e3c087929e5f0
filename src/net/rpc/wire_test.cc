#include "net/rpc/wire.h"

#include <limits>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace partita::net::rpc {
namespace {

using namespace std::string_literals;

struct Walk {
  std::vector<WireField> fields;
  std::string error;
};

Walk WalkOver(std::string_view message) {
  Walk walk;
  WireReader reader(message);
  for (;;) {
    auto field = reader.Next();
    if (!field.ok()) {
      walk.error = field.error().ToString();
      EXPECT_EQ(reader.Next().error().ToString(), walk.error);
      return walk;
    }
    if (!field->has_value()) return walk;
    walk.fields.push_back(**field);
  }
}

// Bytes from protobuf's own documentation of its encoding: field 1 = 150, field 2 = "testing".
TEST(Wire, WritesWhatProtobufDocuments) {
  EXPECT_EQ(WireWriter().Number(1, 150).Take(), "\x08\x96\x01");
  EXPECT_EQ(WireWriter().Text(2, "testing").Take(), "\x12\x07testing");
  EXPECT_EQ(WireWriter().Signed(1, -2).Take(), "\x08\xfe\xff\xff\xff\xff\xff\xff\xff\xff\x01");
  EXPECT_EQ(WireWriter().Message(3, WireWriter().Number(1, 150).Take()).Take(),
            "\x1a\x03\x08\x96\x01");
  EXPECT_EQ(WireWriter().Entry(1, "k", "").Take(), "\x0a\x05\x0a\x01k\x12\x00"s);
}

TEST(Wire, LeavesOutWhatProto3DoesAndNothingElse) {
  EXPECT_EQ(WireWriter().Text(1, "").Number(2, 0).Signed(3, 0).Flag(4, false).Take(), "");
  EXPECT_EQ(WireWriter().Element(1, "").Message(2, "").Flag(3, true).Take(),
            "\x0a\x00\x12\x00\x18\x01"s);
}

TEST(Wire, ReadsBackWhatItWrote) {
  const std::string text =
      WireWriter().Text(1, "a").Signed(536870911, -1).Number(16, 1U << 31U).Element(2, "").Take();
  using Kind = WireField::Kind;
  const std::vector<WireField> expected = {
      {.number = 1, .kind = Kind::kBytes, .bytes = "a"},
      {.number = 536870911, .value = std::numeric_limits<std::uint64_t>::max()},
      {.number = 16, .value = 1U << 31U},
      {.number = 2, .kind = Kind::kBytes, .bytes = ""}};
  EXPECT_EQ(WalkOver(text).fields, expected);
}

TEST(Wire, ReadsFixedNumbers) {
  const auto fields = WalkOver("\x09\x01\x02\x00\x00\x00\x00\x00\x80\x15\xff\x00\x00\x01"s).fields;
  ASSERT_EQ(fields.size(), 2U);
  EXPECT_EQ(fields[0].value, 0x8000000000000201U);
  EXPECT_EQ(fields[0].kind, WireField::Kind::kFixed64);
  EXPECT_EQ(fields[1].value, 0x010000ffU);
  EXPECT_EQ(fields[1].kind, WireField::Kind::kFixed32);
}

TEST(Wire, RefusesWhatIsNotAMessage) {
  const struct {
    const char* name;
    std::string message, error;
  } cases[] = {
      {"tag cut off", "\x80", "byte 0 of 1: a number is cut off"},
      {"number cut off", "\x08\x96", "byte 1 of 2: a number is cut off"},
      {"eleven bytes", "\x08"s + std::string(10, '\x80') + "\x01",
       "byte 1 of 12: a number has more than 64 bits"},
      {"65 bits", "\x08"s + std::string(9, '\xff') + "\x02",
       "byte 1 of 11: a number has more than 64 bits"},
      {"text cut off", "\x12\x07testin", "byte 2 of 8: a field is cut off"},
      {"size over all", "\x12\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01",
       "byte 11 of 11: a field is cut off"},
      {"fixed cut off", "\x09\x01\x02", "byte 1 of 3: a field is cut off"},
      {"field 0", "\x02\x00"s, "byte 0 of 2: no field has such a number"},
      {"field 2^29", "\x80\x80\x80\x80\x10\x00"s, "byte 0 of 6: no field has such a number"},
      {"group", "\x0b\x0c", "byte 0 of 2: groups and unknown kinds are not read"},
      {"kind 7", "\x0f\x00"s, "byte 0 of 2: groups and unknown kinds are not read"},
  };
  for (const auto& each : cases)
    EXPECT_EQ(WalkOver(each.message).error, "not a protobuf message: " + each.error) << each.name;
}

}  // namespace
}  // namespace partita::net::rpc
