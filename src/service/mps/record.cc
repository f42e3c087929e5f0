#include "service/mps/record.h"

#include <limits>
#include <utility>

#include "base/json.h"
#include "base/member_reader.h"
#include "base/value.h"

namespace partita::service::mps {
namespace {

using base::MemberReader;
using base::Value;

constexpr std::uint64_t kMostPercent = 100;

Value EncodeMember(const Member& member, model::Mebibytes memory) {
  Value map = Value::Map();
  map.Set("uuid", member.uuid)
      .Set("pci", member.pci.ToString())
      .Set("memoryBytes", member.memory.value())
      .Set("mig", member.mig)
      .Set("computeMajor", static_cast<std::uint64_t>(member.capability.major))
      .Set("computeMinor", static_cast<std::uint64_t>(member.capability.minor))
      .Set("slices", member.compute.slices)
      .Set("slicesOf", member.compute.of)
      .Set("limitMiB", memory.value());
  return map;
}

std::uint32_t Small(const MemberReader& read, std::string_view key) {
  return static_cast<std::uint32_t>(read.Number(key, std::numeric_limits<std::int32_t>::max()));
}

Member DecodeMember(const Value& map, std::string& problem) {
  const MemberReader read(map, problem);
  Member member;
  member.uuid = read.Text("uuid");
  base::Result<model::PciAddress> pci = model::PciAddress::Parse(read.Text("pci"));
  if (pci.ok()) {
    member.pci = *pci;
  } else {
    read.Wrong("pci");
  }
  member.memory = model::Bytes(read.Number("memoryBytes"));
  member.mig = read.Flag("mig");
  member.capability = {static_cast<int>(Small(read, "computeMajor")),
                       static_cast<int>(Small(read, "computeMinor"))};
  member.compute = {Small(read, "slices"), Small(read, "slicesOf")};
  return member;
}

}  // namespace

std::string Encode(const Record& record) {
  const Domain& domain = record.domain;
  Value members = Value::List();
  for (std::size_t i = 0; i < domain.members.size(); ++i) {
    members.Add(EncodeMember(domain.members[i], domain.memory[i]));
  }
  Value map = Value::Map();
  map.Set("name", domain.name)
      .Set("members", std::move(members))
      .Set("threadPercentage", domain.threads.value())
      .Set("pid", static_cast<std::uint64_t>(record.process.pid.value()))
      .Set("startTime", record.process.start_time)
      .Set("bootId", record.process.boot_id)
      .Set("limited", record.limited);
  return base::ToJson(map);
}

base::Result<Record> Decode(std::string_view text) {
  TRY(map, base::ParseJson(text));
  std::string problem;
  const MemberReader read(map, problem);
  Record record;
  record.domain.name = read.Text("name");
  if (!IsDomainName(record.domain.name)) read.Wrong("name");
  if (const Value* members = read.Find("members", Value::Kind::kList)) {
    for (const Value& member : members->items()) {
      record.domain.members.push_back(DecodeMember(member, problem));
      record.domain.memory.emplace_back(MemberReader(member, problem).Number("limitMiB"));
    }
  }
  record.domain.threads =
      model::Percent(static_cast<std::uint32_t>(read.Number("threadPercentage", kMostPercent)));
  record.process.pid = model::Pid(Small(read, "pid"));
  if (record.process.pid.value() <= 1) read.Wrong("pid");
  record.process.start_time = read.Number("startTime");
  record.process.boot_id = read.Text("bootId");
  if (read.Has("limited")) record.limited = read.Flag("limited");
  if (problem.empty()) return record;
  return base::MakeError(base::ErrorCode::kInvalid,
                         "the record of an MPS domain has no usable \"{}\"", problem);
}

}  // namespace partita::service::mps
