#include "service/mig/change_wire.h"

#include "service/mig/change_fields.h"

namespace partita::service::mig {
namespace {

using base::Result;
using base::Value;
using model::wire::Envelope;

constexpr Envelope kOrder{"an order", kChangeWireVersion, "order"};
constexpr Envelope kNews{"news of a change", kChangeWireVersion, "news"};
constexpr Envelope kEnd{"an end of a change", kChangeWireVersion, "end"};
constexpr Envelope kLook{"a look", kChangeWireVersion, "look"};

}  // namespace

Value ToWire(const RemoteOrder& order) { return model::wire::Enclose(kOrder, order); }
Value ToWire(const ChangeNews& news) { return model::wire::Enclose(kNews, news); }
Value ToWire(const ChangeEnd& end) { return model::wire::Enclose(kEnd, end); }
Value ToWire(const BootChoice& choice) { return model::wire::Enclose(kOrder, choice); }
Value ToWire(const BootEnd& end) { return model::wire::Enclose(kEnd, end); }
Value ToWire(const PlanLook& look) { return model::wire::Enclose(kLook, look); }

Result<RemoteOrder> OrderFromWire(const Value& value) {
  return model::wire::Open<RemoteOrder>(kOrder, "change", value);
}
Result<ChangeNews> NewsFromWire(const Value& value) {
  return model::wire::Open<ChangeNews>(kNews, "news", value);
}
// Whoever draws an end finds a report where there is no error.
Result<ChangeEnd> ChangeEndFromWire(const Value& value) {
  TRY(end, model::wire::Open<ChangeEnd>(kEnd, "end", value));
  if (end.error || end.report) return end;
  return base::Error(base::ErrorCode::kInvalid, "end: neither error nor report");
}
Result<BootChoice> BootChoiceFromWire(const Value& value) {
  return model::wire::Open<BootChoice>(kOrder, "boot", value);
}
Result<BootEnd> BootEndFromWire(const Value& value) {
  return model::wire::Open<BootEnd>(kEnd, "end", value);
}
Result<PlanLook> PlanLookFromWire(const Value& value) {
  return model::wire::Open<PlanLook>(kLook, "look", value);
}

}  // namespace partita::service::mig
