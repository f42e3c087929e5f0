// Any JSON as an inventory from the agent: what is understood is the same when it is sent again.
#include "model/inventory_wire.h"
#include "base/json.h"
#include "fuzz/target.h"

FUZZ_TARGET(inventory_wire) {
  using namespace partita;
  const auto value = base::ParseJson(fuzz::AsText(data, size));
  if (!value.ok()) return 0;
  const auto inventory = model::FromWire(*value);
  if (!inventory.ok()) {
    PARTITA_CHECK(!inventory.error().ToString().empty());
    return 0;
  }
  const auto sent = base::ParseJson(base::ToJsonLine(model::ToWire(*inventory)));
  PARTITA_CHECK(sent.ok());
  const auto again = model::FromWire(*sent);
  PARTITA_CHECK(again.ok() && *again == *inventory);
  return 0;
}
