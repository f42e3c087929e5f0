// Modules and kernels. No kernel runs: each ends at once and does nothing, but one by the name of
// kIllegalAccess does what its name says. An image is PTX text; a program that has such a kernel in
// it faults on a real GPU and on a simulated one.

#include <stdlib.h>
#include <string.h>

#include "sim/cuda/cuda_calls.h"
#include "sim/cuda/mps_client.h"
#include "sim/cuda/session.h"
#include "sim/state/life.h"

namespace partita::sim::cuda {

struct Module {
  char* text;
};
struct Function {
  bool illegal_access;
};

namespace {

constexpr char kIllegalAccess[] = "illegal_access";
constexpr uint64_t kMemoryFault = 31;  // the XID of an access to a page that is not there

Function ordinary = {false}, faulty = {true};

bool IsNameEnd(char c) { return c == '(' || c == ' ' || c == '\n' || c == '\r' || c == '\t'; }

bool HasEntry(const char* text, const char* name) {
  constexpr char kEntry[] = ".entry";
  const size_t length = strlen(name);
  for (const char* at = strstr(text, kEntry); at != nullptr; at = strstr(at, kEntry)) {
    at += sizeof kEntry - 1;
    at += strspn(at, " \t\r\n");
    if (strncmp(at, name, length) == 0 && IsNameEnd(at[length])) return true;
  }
  return false;
}

void ReportFault(Session& session, const DeviceRef& device) {
  Transaction transaction;
  if (Transaction::Begin(session.store, &transaction) != 0) return;
  FailWithXid(transaction.slot(), device.gpu, kMemoryFault, device.gpu_instance,
              device.compute_instance);
  transaction.Commit();
}

// Starting a kernel succeeds; what it comes to is told by the calls that follow.
CUresult Launch(Session& session, Context& context, const Function& function) {
  CUresult code = CUDA_SUCCESS;
  if (function.illegal_access) {
    ReportFault(session, session.devices.devices[context.device]);
    code = CUDA_ERROR_ILLEGAL_ADDRESS;
  }
  context.sticky = session.is_mps_client ? LaunchOnServer(context, code) : code;
  return CUDA_SUCCESS;
}

}  // namespace
}  // namespace partita::sim::cuda

namespace cuda = partita::sim::cuda;

CUDA_API(cuModuleLoadData, CUmodule* module, const void* image) {
  if (module == nullptr || image == nullptr) return CUDA_ERROR_INVALID_VALUE;
  return cuda::ContextCall([&](cuda::Session&, cuda::Context&) {
    const auto* text = static_cast<const char*>(image);
    // Compiled code is the GPU's, and of no use here.
    if (strstr(text, ".version") == nullptr) return CUDA_ERROR_INVALID_IMAGE;
    auto* made = static_cast<cuda::Module*>(calloc(1, sizeof(cuda::Module)));
    if (made != nullptr) made->text = strdup(text);
    if (made == nullptr || made->text == nullptr) {
      free(made);
      return CUDA_ERROR_OUT_OF_MEMORY;
    }
    *module = made;
    return CUDA_SUCCESS;
  });
}

CUDA_API(cuModuleUnload, CUmodule module) {
  if (module == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  return cuda::ContextCall([&](cuda::Session&, cuda::Context&) {
    free(module->text);
    free(module);
    return CUDA_SUCCESS;
  });
}

CUDA_API(cuModuleGetFunction, CUfunction* function, CUmodule module, const char* name) {
  if (function == nullptr || module == nullptr || name == nullptr) return CUDA_ERROR_INVALID_VALUE;
  return cuda::ContextCall([&](cuda::Session&, cuda::Context&) {
    if (!cuda::HasEntry(module->text, name)) return CUDA_ERROR_NOT_FOUND;
    *function = strcmp(name, cuda::kIllegalAccess) == 0 ? &cuda::faulty : &cuda::ordinary;
    return CUDA_SUCCESS;
  });
}

CUDA_API(cuLaunchKernel,
         CUfunction function,
         unsigned int,
         unsigned int,
         unsigned int,
         unsigned int,
         unsigned int,
         unsigned int,
         unsigned int,
         CUstream,
         void**,
         void**) {
  if (function == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  return cuda::ContextCall([&](cuda::Session& session, cuda::Context& context) {
    return cuda::Launch(session, context, *function);
  });
}
