// Allocations. Their addresses are reserved in this process so that no two are alike; what is
// copied there is kept for the first mebibyte of each, which is enough to see that it arrived.

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "sim/cuda/cuda_calls.h"
#include "sim/cuda/session.h"
#include "sim/cuda/share.h"
#include "sim/state/holders.h"
#include "sim/state/use.h"

namespace partita::sim::cuda {
namespace {

constexpr size_t kKept = kMebibyte;
constexpr size_t kAlignment = 512;

CUdeviceptr AsPointer(const Allocation& allocation) {
  return reinterpret_cast<CUdeviceptr>(allocation.address);
}

CUresult Allocate(Session& session, Context& context, CUdeviceptr* pointer, size_t size) {
  if (pointer == nullptr || size == 0) return CUDA_ERROR_INVALID_VALUE;
  if (size > SIZE_MAX / 2) return CUDA_ERROR_OUT_OF_MEMORY;
  const size_t rounded = (size + kAlignment - 1) / kAlignment * kAlignment;
  Usage& usage = session.usages[context.device];
  const CUresult code = Account(session, context.device, usage.allocated_bytes + rounded);
  if (code != CUDA_SUCCESS) return code;
  auto* made = static_cast<Allocation*>(calloc(1, sizeof(Allocation)));
  const size_t mapped = (rounded + 4095) / 4096 * 4096;
  void* address =
      mmap(nullptr, mapped, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (made == nullptr || address == MAP_FAILED ||
      mprotect(address, mapped < kKept ? mapped : kKept, PROT_READ | PROT_WRITE) != 0) {
    free(made);
    if (address != MAP_FAILED) munmap(address, mapped);
    Account(session, context.device, usage.allocated_bytes - rounded);
    return CUDA_ERROR_OUT_OF_MEMORY;
  }
  *made = {context.allocations, static_cast<char*>(address), rounded, mapped};
  context.allocations = made;
  *pointer = AsPointer(*made);
  return CUDA_SUCCESS;
}

CUresult Free(Session& session, Context& context, CUdeviceptr pointer) {
  if (pointer == 0) return CUDA_SUCCESS;
  for (Allocation** place = &context.allocations; *place != nullptr; place = &(*place)->next) {
    Allocation* gone = *place;
    if (AsPointer(*gone) != pointer) continue;
    *place = gone->next;
    munmap(gone->address, gone->mapped);
    Usage& usage = session.usages[context.device];
    const CUresult code = Account(session, context.device, usage.allocated_bytes - gone->size);
    free(gone);
    return code;
  }
  return CUDA_ERROR_INVALID_VALUE;
}

// The bytes from `pointer` on lie within one allocation. `kept` of them are really there.
bool FindBytes(const Context& context, CUdeviceptr pointer, size_t size, char** at, size_t* kept) {
  for (const Allocation* one = context.allocations; one != nullptr; one = one->next) {
    if (pointer < AsPointer(*one) || pointer - AsPointer(*one) >= one->size) continue;
    const size_t offset = static_cast<size_t>(pointer - AsPointer(*one));
    if (size > one->size - offset) return false;
    *at = one->address + offset;
    *kept = offset >= kKept ? 0 : (size < kKept - offset ? size : kKept - offset);
    return true;
  }
  return false;
}

// body(at, kept) with the device's bytes.
template <class F>
CUresult OnBytes(CUdeviceptr pointer, size_t size, F body) {
  return ContextCall([&](Session&, Context& context) {
    char* at = nullptr;
    size_t kept = 0;
    if (size == 0) return CUDA_SUCCESS;
    if (!FindBytes(context, pointer, size, &at, &kept)) return CUDA_ERROR_INVALID_VALUE;
    body(context, at, kept);
    return CUDA_SUCCESS;
  });
}

CUresult CopyBetween(CUdeviceptr to, CUdeviceptr from, size_t size) {
  bool found = true;
  const CUresult code = OnBytes(to, size, [&](Context& context, char* at, size_t kept) {
    char* source = nullptr;
    size_t there = 0;
    found = FindBytes(context, from, size, &source, &there);
    if (found) memmove(at, source, there < kept ? there : kept);
  });
  return found ? code : CUDA_ERROR_INVALID_VALUE;
}

CUresult TellRoom(Session& session, Context& context, size_t* free_bytes, size_t* total) {
  if (free_bytes == nullptr || total == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const DeviceRef& device = session.devices.devices[context.device];
  const Usage& usage = session.usages[context.device];
  // On a copy that is not kept: the dead are let go first.
  Transaction look;
  if (Transaction::Begin(session.store, &look) != 0) return CUDA_ERROR_UNKNOWN;
  Reap(session.store.root(), look.machine(), look.slot());
  const Room room = RoomOn(look.machine(), look.slot(), device.gpu, device.gpu_instance);
  look.Abandon();
  *total = room.total;
  *free_bytes = room.free;
  // Under a limit the rest of it is what is free; the total stays the device's (seen).
  if (usage.limit == 0) return CUDA_SUCCESS;
  const uint64_t used = usage.contexts * ContextBytesOn(session, context.device) +
                        RoundToPages(usage.allocated_bytes);
  const uint64_t left = used < usage.limit ? usage.limit - used : 0;
  if (left < *free_bytes) *free_bytes = left;
  return CUDA_SUCCESS;
}

}  // namespace
}  // namespace partita::sim::cuda

namespace cuda = partita::sim::cuda;

CUDA_API(cuMemAlloc_v2, CUdeviceptr* pointer, size_t size) {
  return cuda::ContextCall([&](cuda::Session& session, cuda::Context& context) {
    return cuda::Allocate(session, context, pointer, size);
  });
}
CUDA_API(cuMemAlloc, CUdeviceptr* pointer, size_t size) { return cuMemAlloc_v2(pointer, size); }

CUDA_API(cuMemFree_v2, CUdeviceptr pointer) {
  return cuda::ContextCall([&](cuda::Session& session, cuda::Context& context) {
    return cuda::Free(session, context, pointer);
  });
}
CUDA_API(cuMemFree, CUdeviceptr pointer) { return cuMemFree_v2(pointer); }

CUDA_API(cuMemGetInfo_v2, size_t* free, size_t* total) {
  return cuda::ContextCall([&](cuda::Session& session, cuda::Context& context) {
    return cuda::TellRoom(session, context, free, total);
  });
}
CUDA_API(cuMemGetInfo, size_t* free, size_t* total) { return cuMemGetInfo_v2(free, total); }

CUDA_API(cuMemsetD8_v2, CUdeviceptr pointer, unsigned char value, size_t size) {
  return cuda::OnBytes(pointer, size,
                       [&](cuda::Context&, char* at, size_t kept) { memset(at, value, kept); });
}
CUDA_API(cuMemsetD8, CUdeviceptr pointer, unsigned char value, size_t size) {
  return cuMemsetD8_v2(pointer, value, size);
}

CUDA_API(cuMemcpyHtoD_v2, CUdeviceptr to, const void* from, size_t size) {
  if (from == nullptr && size != 0) return CUDA_ERROR_INVALID_VALUE;
  return cuda::OnBytes(to, size,
                       [&](cuda::Context&, char* at, size_t kept) { memcpy(at, from, kept); });
}
CUDA_API(cuMemcpyHtoD, CUdeviceptr to, const void* from, size_t size) {
  return cuMemcpyHtoD_v2(to, from, size);
}

CUDA_API(cuMemcpyDtoH_v2, void* to, CUdeviceptr from, size_t size) {
  if (to == nullptr && size != 0) return CUDA_ERROR_INVALID_VALUE;
  return cuda::OnBytes(from, size, [&](cuda::Context&, const char* at, size_t kept) {
    memcpy(to, at, kept);
    memset(static_cast<char*>(to) + kept, 0, size - kept);
  });
}
CUDA_API(cuMemcpyDtoH, void* to, CUdeviceptr from, size_t size) {
  return cuMemcpyDtoH_v2(to, from, size);
}

CUDA_API(cuMemcpyDtoD_v2, CUdeviceptr to, CUdeviceptr from, size_t size) {
  return cuda::CopyBetween(to, from, size);
}
CUDA_API(cuMemcpyDtoD, CUdeviceptr to, CUdeviceptr from, size_t size) {
  return cuda::CopyBetween(to, from, size);
}
