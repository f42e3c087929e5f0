#include "service/ledger/atoms.h"

#include "base/result.h"

namespace partita::service::ledger {
namespace {

bool PlacementsMeet(const model::Placement& a, const model::Placement& b) {
  return a.start < b.start + b.size && b.start < a.start + a.size;
}

bool SameBoard(const WholeGpu& a, const WholeGpu& b) { return a.uuid == b.uuid; }

// Where both are known by UUID that decides: another UUID at an address is another board.
bool SameBoard(const WholeGpu& gpu, const VfioDevice& vfio) {
  return vfio.remembered ? *vfio.remembered == gpu.uuid : gpu.slot && *gpu.slot == vfio.pci;
}

// The board of anything but a vfio GPU.
const WholeGpu& GpuOf(const Device& device) {
  if (const MigDevice* mig = MigPart(device)) return mig->gpu;
  if (const auto* share = std::get_if<Share>(&device)) return std::get<WholeGpu>(share->of);
  return std::get<WholeGpu>(device);
}

Clash OfVfio(const VfioDevice& a, const VfioDevice& b, bool one_owner) {
  if (one_owner) return Clash::kNone;
  if (a.pci == b.pci) return Clash::kSameGpu;
  return a.iommu_group && a.iommu_group == b.iommu_group ? Clash::kIommuGroup : Clash::kNone;
}

Clash OfMig(const MigDevice& a, const MigDevice& b) {
  if (a.instance() != b.instance())
    return PlacementsMeet(a.memory, b.memory) ? Clash::kMemorySlices : Clash::kNone;
  return PlacementsMeet(a.compute, b.compute) ? Clash::kComputeSlices : Clash::kNone;
}

Clash OfShares(const Share& a, const Share& b) {
  if (a.sharing != b.sharing) return Clash::kSharing;
  return a.n == b.n && a.size == b.size ? Clash::kSameShare : Clash::kNone;
}

// Two devices of one board.
Clash OnOneBoard(const Device& a, const Device& b) {
  const MigDevice* mig_a = MigPart(a);
  const MigDevice* mig_b = MigPart(b);
  const auto* share_a = std::get_if<Share>(&a);
  const auto* share_b = std::get_if<Share>(&b);
  const bool both_mig = mig_a != nullptr && mig_b != nullptr;
  const bool both_whole = mig_a == nullptr && mig_b == nullptr;
  if (!both_mig && !both_whole) return Clash::kSameGpu;
  if (both_mig) {
    const Clash clash = OfMig(*mig_a, *mig_b);
    const bool same_place =
        mig_a->instance() == mig_b->instance() && mig_a->compute == mig_b->compute;
    // Shares are shares of the same device, not of two that are in each other's way.
    if (clash == Clash::kNone || !same_place) return clash;
    if (share_a == nullptr && share_b == nullptr) return clash;
  }
  if (share_a != nullptr && share_b != nullptr) return OfShares(*share_a, *share_b);
  return share_a != nullptr || share_b != nullptr ? Clash::kShared : Clash::kSameGpu;
}

// `admin`: one of the two only looks.
Clash ClashOf(const Device& a, const Device& b, bool admin, bool one_owner) {
  const auto* vfio_a = std::get_if<VfioDevice>(&a);
  const auto* vfio_b = std::get_if<VfioDevice>(&b);
  if (vfio_a != nullptr && vfio_b != nullptr) {
    if (!admin) return OfVfio(*vfio_a, *vfio_b, one_owner);
    return vfio_a->pci == vfio_b->pci ? Clash::kVfioAdmin : Clash::kNone;
  }
  const bool with_vfio = vfio_a != nullptr || vfio_b != nullptr;
  if (with_vfio) {
    const VfioDevice& vfio = vfio_a != nullptr ? *vfio_a : *vfio_b;
    if (!SameBoard(GpuOf(vfio_a != nullptr ? b : a), vfio)) return Clash::kNone;
    return admin ? Clash::kVfioAdmin : Clash::kSameGpu;
  }
  if (admin || !SameBoard(GpuOf(a), GpuOf(b))) return Clash::kNone;
  return OnOneBoard(a, b);
}

}  // namespace

std::string_view ToString(Clash clash) {
  switch (clash) {
    case Clash::kNone: return "";
    case Clash::kSameGpu: return "one of them needs the whole GPU";
    case Clash::kMemorySlices: return "they take the same memory slices";
    case Clash::kComputeSlices: return "they take the same compute slices";
    case Clash::kShared: return "one is a share of the other";
    case Clash::kSharing: return "they are shared in different ways";
    case Clash::kSameShare: return "they are the same share";
    case Clash::kIommuGroup: return "they are in one IOMMU group";
    case Clash::kVfioAdmin: return "a GPU under vfio cannot be looked into";
  }
  base::CheckFailed("a clash of the list", __FILE__, __LINE__);
}

Clash Overlap(const Use& a, const Use& b, bool one_owner) {
  return ClashOf(a.device, b.device, a.admin || b.admin, one_owner);
}

Clash Between(const Device& a, const Device& b, bool one_owner) {
  return ClashOf(a, b, false, one_owner);
}

bool MayMeet(const Device& a, const Device& b) {
  // Groups of the IOMMU reach over boards.
  if (std::holds_alternative<VfioDevice>(a) || std::holds_alternative<VfioDevice>(b)) return true;
  return SameBoard(GpuOf(a), GpuOf(b));
}

}  // namespace partita::service::ledger
