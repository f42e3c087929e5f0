// The NVML calls that the torture tests make, bound at run time. Declared here a second time on
// purpose: a client knows the library by name only.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "base/result.h"

namespace partita::torture {

using Handle = void*;

enum Code : int {
  kSuccess = 0,
  kInvalidArgument = 2,
  kNotSupported = 3,
  kNotFound = 6,
  kTimeout = 10,
  kInUse = 19,
  kInsufficientResources = 23,
};

struct Placement {
  unsigned start, size;
};
struct GpuInstanceView {
  Handle device;
  unsigned id, profile;
  Placement placement;
};
struct ComputeInstanceView {
  Handle device, gpu_instance;
  unsigned id, profile;
  Placement placement;
};
struct GpuInstanceProfileView {
  unsigned id, p2p, slices, instances, multiprocessors, copy_engines, decoders, encoders, jpegs,
      ofas;
  unsigned long long memory_mb;
};
struct ComputeInstanceProfileView {
  unsigned id, slices, instances, multiprocessors, copy_engines, decoders, encoders, jpegs, ofas;
};
struct EventView {
  Handle device;
  unsigned long long type, data;
  unsigned gpu_instance, compute_instance;
};

inline constexpr unsigned kProfileConstants = 64;  // asked until INVALID_ARGUMENT
inline constexpr unsigned kComputeProfileConstants = 9;
inline constexpr unsigned long long kMigChangeEvent = 0x100;

struct Nvml {
  int (*Init)();
  int (*Shutdown)();
  int (*GetCount)(unsigned*);
  int (*GetHandleByIndex)(unsigned, Handle*);
  int (*GetMigMode)(Handle, unsigned*, unsigned*);
  int (*SetMigMode)(Handle, unsigned, int*);
  int (*GetGpuInstanceProfile)(Handle, unsigned, GpuInstanceProfileView*);
  int (*GetPossiblePlacements)(Handle, unsigned, Placement*, unsigned*);
  int (*CreateGpuInstance)(Handle, unsigned, Handle*);
  int (*CreateGpuInstanceAt)(Handle, unsigned, const Placement*, Handle*);
  int (*DestroyGpuInstance)(Handle);
  int (*GetGpuInstances)(Handle, unsigned, Handle*, unsigned*);
  int (*GetGpuInstance)(Handle, GpuInstanceView*);
  int (*GetComputeInstanceProfile)(Handle, unsigned, unsigned, ComputeInstanceProfileView*);
  int (*CreateComputeInstance)(Handle, unsigned, Handle*);
  int (*DestroyComputeInstance)(Handle);
  int (*GetComputeInstances)(Handle, unsigned, Handle*, unsigned*);
  int (*GetComputeInstance)(Handle, ComputeInstanceView*);
  int (*GetUuid)(Handle, char*, unsigned);
  int (*GetComputeProcesses)(Handle, unsigned*, void*);
  int (*CreateEventSet)(Handle*);
  int (*RegisterEvents)(Handle, unsigned long long, Handle);
  int (*WaitForEvent)(Handle, EventView*, unsigned);
  int (*FreeEventSet)(Handle);
};

// Opens the library by path (it stays open) and binds every call at once.
base::Result<Nvml> LoadNvml(const std::string& path);

// The instances of one GPU as several calls see them one after the other: another process may
// change them between two. An instance that vanishes meanwhile is left out; any other surprise is
// an error.
struct ComputeSlice {
  Handle handle;
  ComputeInstanceView view;
  std::string uuid;
};
struct Slice {
  Handle handle;
  GpuInstanceView view;
  std::vector<ComputeSlice> compute;
};
base::Result<std::vector<Slice>> ReadSlices(const Nvml& nvml, Handle gpu);

// MIG modes and instances of every GPU with MIG, in the form of DescribeState in checker.h.
base::Result<std::string> DescribeNode(const Nvml& nvml);

// The UUID of every MIG device by (GPU, GPU instance, compute instance).
using MigUuids = std::map<std::tuple<unsigned, unsigned, unsigned>, std::string>;
base::Result<MigUuids> ReadMigUuids(const Nvml& nvml);

// Driver profile ids of a GPU, in the order of the profile constants.
base::Result<std::vector<unsigned>> ReadProfileIds(const Nvml& nvml, Handle gpu);

base::Error CallFailed(const char* call, int code);

}  // namespace partita::torture
