// The simulator's own rules of MIG, as functions over a board's facts and a GPU's state.
//
// They decide what a driver would decide and share nothing with partita's planner: a mistake there
// must not be repeated here.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "sim/state/layout.h"

namespace partita::sim {

enum class MigStatus : uint32_t {
  kDone,
  kNotSupported,  // no MIG, MIG is off, or a profile that this board or instance does not offer
  kBadPlacement,  // not one of the profile's placements
  kNoRoom,        // occupied, or the profile's count or the engines are used up
  kInUse,         // instances inside, or a process
  kAbsent,        // no such instance
};

// ---- capability minors, fixed for every GPU minor (mig-minors of driver 580)
// -------------------------

inline constexpr uint32_t kMigConfigMinor = 1;
inline constexpr uint32_t kMigMonitorMinor = 2;
inline constexpr uint32_t kFabricImexMinor = 4323;

inline constexpr uint32_t GpuInstanceMinor(uint32_t gpu_minor, uint32_t gpu_instance) {
  return 3 + 135 * gpu_minor + 9 * gpu_instance;
}
inline constexpr uint32_t ComputeInstanceMinor(uint32_t gpu_minor,
                                               uint32_t gpu_instance,
                                               uint32_t compute_instance) {
  return GpuInstanceMinor(gpu_minor, gpu_instance) + 1 + compute_instance;
}

// ---- profiles
// ---------------------------------------------------------------------------------------

const GiProfile* FindGiProfile(const Board& board, uint32_t constant);
const GiProfile* FindGiProfileById(const Board& board, uint32_t id);
// Inside GPU instances of the profile with this constant.
const CiProfile* FindCiProfile(const Board& board, uint32_t gi_constant, uint32_t id);
// Some board of some family has a GPU-instance profile of this driver id: a driver tells such an id
// (NOT_SUPPORTED) from one it has never heard of (INVALID_ARGUMENT).
bool IsKnownGiProfileId(const Machine& machine, uint32_t id);

inline constexpr size_t kProfileNameSize = 48;
// "1g.18gb", "1g.18gb+me".
void NameGiProfile(const Board& board, const GiProfile& profile, char* out);
// "1c.3g.71gb"; "3g.71gb" when it takes the whole instance.
void NameCiProfile(const Board& board, const GiProfile& gi, const CiProfile& ci, char* out);

// "MIG-" and a name-based UUID over the parent's UUID and both ids: the same layout gets the same
// UUIDs again.
inline constexpr size_t kUuidSize = 48;
void NameMigDevice(const Board& board, uint32_t gpu_instance, uint32_t compute_instance, char* out);

// ---- GPU instances
// ------------------------------------------------------------------------------------

// kDone, kBadPlacement or kNoRoom.
MigStatus CheckPlacement(const Board& board,
                         const Gpu& gpu,
                         const GiProfile& profile,
                         uint32_t start);
// The start that a driver takes when none is given; kNone: no room.
uint32_t DefaultPlacement(const Board& board, const Gpu& gpu, const GiProfile& profile);
uint32_t RemainingGpuInstances(const Board& board, const Gpu& gpu, const GiProfile& profile);
// The id of an instance at this place, by the board's numbering.
uint32_t GpuInstanceIdAt(const Board& board, uint32_t start, uint32_t size);

// `incarnation` is Slot::next_incarnation, taken by the caller. `start` kNone: the driver's choice.
MigStatus CreateGpuInstance(const Board& board,
                            Gpu& gpu,
                            const GiProfile& profile,
                            uint32_t start,
                            uint64_t incarnation,
                            uint32_t* id);
// Refuses while compute instances are inside; processes are the caller's to check.
MigStatus DestroyGpuInstance(Gpu& gpu, uint32_t id);
void DestroyAllInstances(Gpu& gpu);
uint32_t CountGpuInstances(const Gpu& gpu);

// ---- compute instances
// --------------------------------------------------------------------------------

MigStatus CheckComputePlacement(const Board& board,
                                const GpuInstance& instance,
                                const CiProfile& profile,
                                uint32_t start);
uint32_t RemainingComputeInstances(const Board& board,
                                   const GpuInstance& instance,
                                   const CiProfile& profile);
// Ids are the lowest free from 0; `start` kNone: the lowest free placement.
MigStatus CreateComputeInstance(const Board& board,
                                GpuInstance& instance,
                                const CiProfile& profile,
                                uint32_t start,
                                uint32_t* id);
MigStatus DestroyComputeInstance(GpuInstance& instance, uint32_t id);
uint32_t CountComputeInstances(const GpuInstance& instance);

// ---- mode
// ---------------------------------------------------------------------------------------------

enum class ModeChange : uint32_t {
  kActive,         // in force now
  kInUse,          // pending: a process holds the GPU
  kResetRequired,  // pending until the GPU is reset
};

// kNotSupported: no MIG. kInUse: refused, instances exist. Otherwise the request is accepted and
// `change` says what became of it. `held`: a process holds the GPU.
MigStatus SetMigMode(const Machine& machine,
                     const Board& board,
                     Gpu& gpu,
                     bool enable,
                     bool held,
                     ModeChange* change);

}  // namespace partita::sim
