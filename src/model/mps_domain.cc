#include "model/mps_domain.h"

#include <utility>

namespace partita::model {
namespace {

using base::Value;

base::Error NotADomain(std::string_view what) {
  return base::MakeError(base::ErrorCode::kInvalid, "a domain of MPS: {}", what);
}

// Empty: there is none.
std::string TextAt(const Value& map, std::string_view key) {
  const Value* text = map.Find(key);
  return text != nullptr && text->kind() == Value::Kind::kString ? text->AsString() : "";
}

base::Result<MpsDomain> ReadDomain(const Value& map) {
  MpsDomain domain;
  const Value* name = map.Find("name");
  const Value* devices = map.Find("devices");
  if (name == nullptr || name->kind() != Value::Kind::kString) return NotADomain("name is no text");
  if (devices == nullptr || devices->kind() != Value::Kind::kList)
    return NotADomain("devices is no list");
  domain.name = name->AsString();
  for (const Value& device : devices->items()) {
    if (device.kind() != Value::Kind::kString) return NotADomain("a device is no text");
    domain.devices.push_back(device.AsString());
  }
  domain.problem = TextAt(map, "problem");
  domain.warning = TextAt(map, "warning");
  const Value* kept = map.Find("kept");
  domain.kept = kept != nullptr && kept->kind() == Value::Kind::kBool && kept->AsBool();
  return domain;
}

}  // namespace

Value ToValue(const MpsDomain& domain) {
  Value devices = Value::List();
  for (const std::string& device : domain.devices) devices.Add(device);
  Value map = Value::Map();
  map.Set("name", domain.name).Set("devices", std::move(devices));
  if (!domain.problem.empty()) map.Set("problem", domain.problem);
  if (!domain.warning.empty()) map.Set("warning", domain.warning);
  return map.Set("kept", domain.kept);
}

Value ToValue(const std::vector<MpsDomain>& domains) {
  Value list = Value::List();
  for (const MpsDomain& domain : domains) list.Add(ToValue(domain));
  return list;
}

base::Result<std::vector<MpsDomain>> ReadMpsDomains(const Value& list) {
  if (list.kind() != Value::Kind::kList) return NotADomain("they are no list");
  std::vector<MpsDomain> domains;
  for (const Value& each : list.items()) {
    TRY(domain, ReadDomain(each));
    domains.push_back(std::move(domain));
  }
  return domains;
}

}  // namespace partita::model
