// Any bytes as a message of protobuf: read to the end or refused, and what was read is written
// again to the same fields.
#include <string>
#include <vector>

#include "fuzz/target.h"
#include "net/rpc/wire.h"

namespace {

using namespace partita::net::rpc;

struct Read {
  std::vector<WireField> fields;
  bool refused = false;
};

Read ReadAll(std::string_view message) {
  Read read;
  WireReader reader(message);
  for (;;) {
    const auto field = reader.Next();
    read.refused = !field.ok();
    if (!field.ok() || !field->has_value()) return read;
    read.fields.push_back(**field);
  }
}

}  // namespace

FUZZ_TARGET(rpc_wire) {
  const std::string_view message = partita::fuzz::AsText(data, size);
  const Read read = ReadAll(message);
  WireWriter writer;
  std::vector<WireField> written;
  for (const WireField& field : read.fields) {
    if (field.kind == WireField::Kind::kBytes) {
      PARTITA_CHECK(field.bytes.empty() ||
                    (field.bytes.data() >= message.data() &&
                     field.bytes.data() + field.bytes.size() <= message.data() + message.size()));
      writer.Element(field.number, field.bytes);
    } else if (field.kind == WireField::Kind::kVarint && field.value != 0) {
      writer.Number(field.number, field.value);
    } else {
      continue;
    }
    written.push_back(field);
  }
  const std::string again = writer.Take();
  const Read back = ReadAll(again);
  PARTITA_CHECK(!back.refused && back.fields == written);
  return 0;
}
