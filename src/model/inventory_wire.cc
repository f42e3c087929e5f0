#include "model/inventory_wire.h"

#include "model/inventory_codec.h"

namespace partita::model {

namespace {

constexpr wire::Envelope kEnvelope{"an inventory", kInventoryWireVersion, "node"};

}  // namespace

base::Value ToWire(const Inventory& inventory) { return wire::Enclose(kEnvelope, inventory); }

base::Result<Inventory> FromWire(const base::Value& value) {
  return wire::Open<Inventory>(kEnvelope, "inventory", value);
}

}  // namespace partita::model
