#include "sim/load/exchange.h"

#include <algorithm>
#include <iterator>
#include <span>
#include <vector>

#include "base/text.h"
#include "sim/load/identity.h"
#include "sim/load/node_gpus.h"
#include "sim/load/pci_address.h"
#include "sim/load/product.h"
#include "sim/load/topology.h"

namespace partita::sim::load {
namespace {

using base::ErrorCode;

base::Result<Product> FindInCatalog(const Catalog& catalog, const std::string& name) {
  if (const DataFile* file = catalog.FindProduct(name)) return LoadProduct(*file);
  const std::vector<std::string> names = Names(catalog.products());
  const std::string near = base::DidYouMean(name, names);
  return base::MakeError(ErrorCode::kNotFound, "unknown product {}", base::Quoted(name))
      .WithHint(near.empty() ? "known are " + base::JoinWithOr(names)
                             : "did you mean " + base::Quoted(near) + "?");
}

base::Result<void> CheckFits(const Machine& machine, const Board& old, const Board& board) {
  if (machine.open_kernel_module != 0 && IsTooOldForOpenModules(board)) {
    return base::MakeError(ErrorCode::kConflict, "{} is older than the open kernel modules drive",
                           base::Quoted(board.product))
        .WithHint("they begin with Turing: take a node with open_kernel_module: false");
  }
  if (board.mig_activation != MigActivation::kNone && old.minor >= kMaxMigMinors) {
    return base::MakeError(ErrorCode::kConflict, "minor {} for a GPU that can do MIG", old.minor)
        .WithHint("the driver numbers MIG capabilities for minors below " +
                  std::to_string(kMaxMigMinors));
  }
  return {};
}

// What belongs to the slot, not to the board in it.
void TakePlace(const Board& old, Board& board) {
  board.pci = old.pci;
  board.bridge_count = old.bridge_count;
  std::ranges::copy(old.bridges, board.bridges);
  board.numa_node = old.numa_node;
  std::ranges::copy(old.cpu_affinity, board.cpu_affinity);
  board.minor = old.minor;
  board.irq = old.irq;
  board.module_id = old.module_id;
  std::ranges::copy(old.common_ancestor, board.common_ancestor);
  board.virtualization_mode = old.virtualization_mode;
}

template <std::size_t N>
base::Result<void> SetText(std::string_view what, const std::string& text, char (&out)[N]) {
  if (text.size() >= N) {
    return base::MakeError(ErrorCode::kInvalid, "{} is longer than {} bytes", what, N - 1);
  }
  text.copy(out, text.size());
  return {};
}

base::Result<void> Name(const Machine& machine,
                        const Board& old,
                        const NewBoard& wanted,
                        Board& board) {
  if (!wanted.uuid.empty() && !IsGpuUuid(wanted.uuid)) {
    return base::MakeError(ErrorCode::kInvalid, "not a GPU UUID: {}", base::Quoted(wanted.uuid))
        .WithHint("write GPU- and 8-4-4-4-12 hex digits in lower case");
  }
  const std::string uuid =
      wanted.uuid.empty() ? "GPU-" + DeriveUuid(machine.seed, machine.node, old.uuid) : wanted.uuid;
  for (const Board& other : std::span(machine.boards, machine.gpu_count)) {
    if (uuid != other.uuid) continue;
    return base::MakeError(ErrorCode::kConflict, "{} is a GPU of this node already", uuid);
  }
  TRY_VOID(SetText("the UUID", uuid, board.uuid));
  return SetText("the serial number",
                 wanted.serial.empty() ? DeriveSerial(machine.seed, machine.node, "serial " + uuid)
                                       : wanted.serial,
                 board.serial);
}

bool IsLinkTo(const Link& link, LinkRemote kind, const PciFunction& address) {
  return link.remote == kind &&
         Same({link.remote_domain, link.remote_bus, link.remote_device}, address);
}

// The GPU that a bridge joins with `gpu`; null where there is none.
Board* FindPartner(Machine& machine, std::uint32_t gpu) {
  for (Board& other : std::span(machine.boards, machine.gpu_count)) {
    if (other.link_count > 0 &&
        IsLinkTo(other.links[0], LinkRemote::kGpu, machine.boards[gpu].pci)) {
      return &other;
    }
  }
  return nullptr;
}

void Connect(Machine& machine, std::uint32_t gpu, const Product& product, Board& board) {
  const std::span<const Board> boards(machine.boards, machine.gpu_count);
  const bool switched = std::ranges::any_of(boards, [](const Board& each) {
    return each.link_count > 0 && each.links[0].remote == LinkRemote::kSwitch;
  });
  if (switched) ConnectToSwitches(machine, product.nvlinks, board);
  if (Board* partner = FindPartner(machine, gpu)) {
    const std::uint32_t links = partner->link_count;
    partner->link_count = 0;
    if (links == product.nvlinks) ConnectPair(links, board, *partner);
  }
  if (!product.fabric) return;
  board.fabric_state = {1, switched ? 3U : 0U};
  const auto other =
      std::ranges::find_if(boards, [](const Board& each) { return each.fabric_state.known != 0; });
  if (other == boards.end()) return;
  board.fabric_state = other->fabric_state;
  board.fabric_clique = other->fabric_clique;
  std::ranges::copy(other->fabric_cluster_uuid, board.fabric_cluster_uuid);
}

}  // namespace

base::Result<std::unique_ptr<Machine>> Exchange(const Machine& machine,
                                                std::uint32_t gpu,
                                                const NewBoard& board,
                                                const Catalog& catalog) {
  TRY(product, FindInCatalog(catalog, board.product));
  const Board& old = machine.boards[gpu];
  TRY_VOID(CheckFits(machine, old, product.board));
  TakePlace(old, product.board);
  TRY_VOID(Name(machine, old, board, product.board));
  auto out = std::make_unique<Machine>(machine);
  Connect(*out, gpu, product, product.board);
  out->boards[gpu] = product.board;
  return out;
}

}  // namespace partita::sim::load
