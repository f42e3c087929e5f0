// Contexts: the first one on a device makes this process a holder of it.

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "sim/cuda/cuda_calls.h"
#include "sim/cuda/mps_client.h"
#include "sim/cuda/session.h"
#include "sim/cuda/share.h"
#include "sim/state/use.h"

namespace partita::sim::cuda {
namespace {

constexpr uint32_t kMostCurrent = 16;

// The model that needs no call into the loader: this library needs libc alone.
struct CurrentContexts {
  uint32_t count;
  Context* stack[kMostCurrent];
};
__attribute__((tls_model("initial-exec"))) thread_local CurrentContexts current;

bool IsAlive(const Session& session, const Context* wanted) {
  for (const Context* context = session.contexts; context != nullptr; context = context->next) {
    if (context == wanted) return true;
  }
  return false;
}

CUresult CodeOf(UseStatus status) {
  switch (status) {
    case UseStatus::kDone: return CUDA_SUCCESS;
    case UseStatus::kProhibited:
    case UseStatus::kTaken: return CUDA_ERROR_DEVICE_UNAVAILABLE;
    case UseStatus::kNoMemory:
    case UseStatus::kNoEntry: return CUDA_ERROR_OUT_OF_MEMORY;
    case UseStatus::kGone:
    case UseStatus::kReadOnly: break;
  }
  return CUDA_ERROR_UNKNOWN;
}

// The name that lists of processes show is the kernel's to tell; this one is for partita-sim's own.
void SetHolderName(char* name, size_t size) { snprintf(name, size, "%s", program_invocation_name); }

CUresult EnterDevice(Session& session, uint32_t ordinal) {
  const DeviceRef& device = session.devices.devices[ordinal];
  Usage& usage = session.usages[ordinal];
  Holder description{};
  description.kind = session.is_mps_client ? HolderKind::kMps : HolderKind::kCompute;
  description.gpu = device.gpu;
  description.gpu_instance = device.gpu_instance;
  description.compute_instance = device.compute_instance;
  description.memory_bytes = ContextBytesOn(session, ordinal);
  SetHolderName(description.name, sizeof description.name);
  if (usage.limit != 0 && description.memory_bytes > usage.limit) return CUDA_ERROR_OUT_OF_MEMORY;
  return CodeOf(BeginUse(session.store, session.holders, description, &usage.holder));
}

// One more context on the device, in the state too.
CUresult AddToUsage(Session& session, Context& context) {
  Usage& usage = session.usages[context.device];
  if (session.is_mps_client) {
    const CUresult code = ConnectContext(session, context);
    if (code != CUDA_SUCCESS) return code;
  }
  CUresult code = CUDA_SUCCESS;
  if (usage.contexts == 0) {
    code = EnterDevice(session, context.device);
    if (code == CUDA_SUCCESS) usage.contexts = 1;
  } else {
    ++usage.contexts;
    code = Account(session, context.device, usage.allocated_bytes);
    if (code != CUDA_SUCCESS) --usage.contexts;
  }
  return code;
}

void RemoveFromUsage(Session& session, Context& context) {
  FreeAll(context);
  Usage& usage = session.usages[context.device];
  if (--usage.contexts == 0) {
    EndUse(session.store, session.holders, usage.holder);
  } else {
    Account(session, context.device, usage.allocated_bytes);
  }
}

CUresult Make(Session& session, uint32_t ordinal, bool primary, Context** out) {
  auto* context = static_cast<Context*>(calloc(1, sizeof(Context)));
  if (context == nullptr) return CUDA_ERROR_OUT_OF_MEMORY;
  context->device = ordinal;
  context->references = 1;
  context->primary = primary;
  context->mps = -1;
  const CUresult code = AddToUsage(session, *context);
  if (code != CUDA_SUCCESS) {
    if (context->mps >= 0) close(context->mps);
    free(context);
    return code;
  }
  context->next = session.contexts;
  session.contexts = context;
  *out = context;
  return CUDA_SUCCESS;
}

void Destroy(Session& session, Context* context) {
  RemoveFromUsage(session, *context);
  Context** place = &session.contexts;
  while (*place != context) place = &(*place)->next;
  *place = context->next;
  if (context->mps >= 0) close(context->mps);
  if (context->primary) session.usages[context->device].primary = nullptr;
  free(context);
}

void SetTop(Context* context) {
  if (current.count == 0) current.count = 1;
  current.stack[current.count - 1] = context;
}

CUresult Push(Context* context) {
  if (current.count == kMostCurrent) return CUDA_ERROR_INVALID_VALUE;
  current.stack[current.count++] = context;
  return CUDA_SUCCESS;
}

CUresult ReleasePrimary(Session& session, uint32_t ordinal) {
  Context* context = session.usages[ordinal].primary;
  if (context == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
  if (--context->references == 0) Destroy(session, context);
  return CUDA_SUCCESS;
}

CUresult CreateCurrent(CUcontext* out, CUdevice device) {
  if (out == nullptr) return CUDA_ERROR_INVALID_VALUE;
  return DeviceCall(device, [&](Session& session, uint32_t ordinal) {
    const CUresult code = Make(session, ordinal, false, out);
    return code == CUDA_SUCCESS ? Push(*out) : code;
  });
}

}  // namespace

Context* CurrentContext(Session& session) {
  Context* top = current.count == 0 ? nullptr : current.stack[current.count - 1];
  return IsAlive(session, top) ? top : nullptr;
}

}  // namespace partita::sim::cuda

namespace cuda = partita::sim::cuda;

CUDA_API(cuCtxCreate_v2, CUcontext* context, unsigned int, CUdevice device) {
  return cuda::CreateCurrent(context, device);
}
CUDA_API(cuCtxCreate, CUcontext* context, unsigned int, CUdevice device) {
  return cuda::CreateCurrent(context, device);
}
CUDA_API(cuCtxCreate_v4, CUcontext* context, void* parameters, unsigned int, CUdevice device) {
  // Affinity to a share of the multiprocessors, or a plan of others': neither is simulated.
  if (parameters != nullptr) return CUDA_ERROR_NOT_SUPPORTED;
  return cuda::CreateCurrent(context, device);
}

CUDA_API(cuCtxDestroy_v2, CUcontext context) {
  return cuda::Call([&](cuda::Session& session) {
    if (!cuda::IsAlive(session, context) || context->primary) return CUDA_ERROR_INVALID_CONTEXT;
    cuda::Destroy(session, context);
    return CUDA_SUCCESS;
  });
}
CUDA_API(cuCtxDestroy, CUcontext context) { return cuCtxDestroy_v2(context); }

CUDA_API(cuDevicePrimaryCtxRetain, CUcontext* context, CUdevice device) {
  if (context == nullptr) return CUDA_ERROR_INVALID_VALUE;
  return cuda::DeviceCall(device, [&](cuda::Session& session, uint32_t ordinal) {
    cuda::Context*& primary = session.usages[ordinal].primary;
    if (primary != nullptr) {
      ++primary->references;
    } else {
      const CUresult code = cuda::Make(session, ordinal, true, &primary);
      if (code != CUDA_SUCCESS) return code;
    }
    *context = primary;
    return CUDA_SUCCESS;
  });
}

CUDA_API(cuDevicePrimaryCtxRelease_v2, CUdevice device) {
  return cuda::DeviceCall(device, cuda::ReleasePrimary);
}
CUDA_API(cuDevicePrimaryCtxRelease, CUdevice device) {
  return cuda::DeviceCall(device, cuda::ReleasePrimary);
}

CUDA_API(cuDevicePrimaryCtxGetState, CUdevice device, unsigned int* flags, int* active) {
  if (flags == nullptr || active == nullptr) return CUDA_ERROR_INVALID_VALUE;
  return cuda::DeviceCall(device, [&](cuda::Session& session, uint32_t ordinal) {
    *flags = 0;
    *active = session.usages[ordinal].primary != nullptr ? 1 : 0;
    return CUDA_SUCCESS;
  });
}

CUDA_API(cuCtxPushCurrent_v2, CUcontext context) {
  return cuda::Call([&](cuda::Session& session) {
    if (!cuda::IsAlive(session, context)) return CUDA_ERROR_INVALID_CONTEXT;
    return cuda::Push(context);
  });
}
CUDA_API(cuCtxPushCurrent, CUcontext context) { return cuCtxPushCurrent_v2(context); }

CUDA_API(cuCtxPopCurrent_v2, CUcontext* context) {
  return cuda::Call([&](cuda::Session& session) {
    cuda::Context* top = cuda::CurrentContext(session);
    if (top == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
    --cuda::current.count;
    if (context != nullptr) *context = top;
    return CUDA_SUCCESS;
  });
}
CUDA_API(cuCtxPopCurrent, CUcontext* context) { return cuCtxPopCurrent_v2(context); }

CUDA_API(cuCtxGetCurrent, CUcontext* context) {
  if (context == nullptr) return CUDA_ERROR_INVALID_VALUE;
  return cuda::Call([&](cuda::Session& session) {
    *context = cuda::CurrentContext(session);
    return CUDA_SUCCESS;
  });
}

CUDA_API(cuCtxSetCurrent, CUcontext context) {
  return cuda::Call([&](cuda::Session& session) {
    if (context != nullptr && !cuda::IsAlive(session, context)) return CUDA_ERROR_INVALID_CONTEXT;
    cuda::SetTop(context);
    return CUDA_SUCCESS;
  });
}

CUDA_API(cuCtxGetDevice, CUdevice* device) {
  if (device == nullptr) return CUDA_ERROR_INVALID_VALUE;
  return cuda::ContextCall([&](cuda::Session&, cuda::Context& context) {
    *device = static_cast<CUdevice>(context.device);
    return CUDA_SUCCESS;
  });
}

CUDA_API(cuCtxSynchronize, void) {
  return cuda::ContextCall([](cuda::Session&, cuda::Context&) { return CUDA_SUCCESS; });
}
