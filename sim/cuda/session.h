// The process's own side of CUDA: its devices, contexts and allocations, all under one lock.
//
// A child of fork finds the parent's session and may not use it: every call answers NOT_INITIALIZED
// there, as CUDA's do.
#pragma once

#include <pthread.h>
#include <stdint.h>

#include "sim/cuda/cuda_abi.h"
#include "sim/cuda/devices.h"
#include "sim/state/store.h"

namespace partita::sim::cuda {

struct Allocation {
  Allocation* next;
  char* address;  // of this process, and a CUdeviceptr as well
  size_t size;    // as asked for
  size_t mapped;  // of addresses reserved
};

struct Context {
  Context* next;
  uint32_t device;      // ordinal
  uint32_t references;  // of the primary context; 1 of others
  bool primary;
  CUresult sticky;  // an error that stays
  int mps;          // the connection to the MPS server; -1: none
  Allocation* allocations;
};

// This process on one device.
struct Usage {
  uint32_t contexts;
  uint32_t holder;           // entry of the state; of no meaning without contexts
  uint64_t allocated_bytes;  // of all contexts
  uint64_t limit;            // of a client of MPS, everything counted; 0: none
  Context* primary;
};

struct Session {
  pthread_mutex_t lock;
  int owner_pid;  // 0: cuInit has not succeeded yet
  Store store;
  int holders;
  DeviceList devices;
  Usage usages[kMaxGpus];  // by ordinal
  Context* contexts;

  // A client of MPS. The connection that cuInit made says whether the server is there.
  bool is_mps_client;
  int mps;
  uint32_t mps_contexts;
  double percentage;
};

Session& TheSession();

class Lock {
 public:
  Lock() { pthread_mutex_lock(&TheSession().lock); }
  ~Lock() { pthread_mutex_unlock(&TheSession().lock); }
  Lock(const Lock&) = delete;
  Lock& operator=(const Lock&) = delete;
};

// CUDA_SUCCESS, or NOT_INITIALIZED: before cuInit and in a child of fork.
CUresult Entered();

// body(): any call after cuInit, under the lock.
template <class F>
CUresult Call(F body) {
  const CUresult entered = Entered();
  if (entered != CUDA_SUCCESS) return entered;
  Lock lock;
  return body(TheSession());
}

// body(session, ordinal): a call about a device.
template <class F>
CUresult DeviceCall(CUdevice device, F body) {
  return Call([&](Session& session) {
    if (device < 0 || static_cast<uint32_t>(device) >= session.devices.count) {
      return CUDA_ERROR_INVALID_DEVICE;
    }
    return body(session, static_cast<uint32_t>(device));
  });
}

// The calling thread's current context, which others may have destroyed meanwhile; null: none.
Context* CurrentContext(Session& session);

// body(session, context): a call in the current context, which must be free of lasting errors.
template <class F>
CUresult ContextCall(F body);

// Looks for what the MPS server has to say, and answers the context's lasting error.
CUresult LastingError(Session& session, Context& context);

// Brings the state's entry in line with what this process has there.
CUresult Account(Session& session, uint32_t ordinal, uint64_t allocated_bytes);

// Multiprocessors of the device that this process may use.
uint32_t UsableMultiprocessors(const Session& session, uint32_t ordinal);
uint64_t ContextBytesOn(const Session& session, uint32_t ordinal);

void FreeAll(Context& context);

template <class F>
CUresult ContextCall(F body) {
  return Call([&](Session& session) {
    Context* context = CurrentContext(session);
    if (context == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
    const CUresult lasting = LastingError(session, *context);
    return lasting != CUDA_SUCCESS ? lasting : body(session, *context);
  });
}

}  // namespace partita::sim::cuda
