// Codes and calls by name.

#include <string.h>

#include "sim/cuda/cuda_calls.h"

namespace {

struct ErrorText {
  CUresult code;
  const char* name;
  const char* text;
};

// Only codes that this library gives. The texts of 700, 806, 810 and 2 are in data/captures/h200.
constexpr ErrorText kErrorTexts[] = {
    {CUDA_SUCCESS, "CUDA_SUCCESS", "no error"},
    {CUDA_ERROR_INVALID_VALUE, "CUDA_ERROR_INVALID_VALUE", "invalid argument"},
    {CUDA_ERROR_OUT_OF_MEMORY, "CUDA_ERROR_OUT_OF_MEMORY", "out of memory"},
    {CUDA_ERROR_NOT_INITIALIZED, "CUDA_ERROR_NOT_INITIALIZED", "initialization error"},
    {CUDA_ERROR_DEVICE_UNAVAILABLE, "CUDA_ERROR_DEVICE_UNAVAILABLE",
     "CUDA-capable device(s) is/are busy or unavailable"},
    {CUDA_ERROR_NO_DEVICE, "CUDA_ERROR_NO_DEVICE", "no CUDA-capable device is detected"},
    {CUDA_ERROR_INVALID_DEVICE, "CUDA_ERROR_INVALID_DEVICE", "invalid device ordinal"},
    {CUDA_ERROR_INVALID_IMAGE, "CUDA_ERROR_INVALID_IMAGE", "device kernel image is invalid"},
    {CUDA_ERROR_INVALID_CONTEXT, "CUDA_ERROR_INVALID_CONTEXT", "invalid device context"},
    {CUDA_ERROR_INVALID_HANDLE, "CUDA_ERROR_INVALID_HANDLE", "invalid resource handle"},
    {CUDA_ERROR_NOT_FOUND, "CUDA_ERROR_NOT_FOUND", "named symbol not found"},
    {CUDA_ERROR_ILLEGAL_ADDRESS, "CUDA_ERROR_ILLEGAL_ADDRESS",
     "an illegal memory access was encountered"},
    {CUDA_ERROR_NOT_SUPPORTED, "CUDA_ERROR_NOT_SUPPORTED", "operation not supported"},
    {CUDA_ERROR_SYSTEM_DRIVER_MISMATCH, "CUDA_ERROR_SYSTEM_DRIVER_MISMATCH",
     "system has unsupported display driver / cuda driver combination"},
    {CUDA_ERROR_MPS_CONNECTION_FAILED, "CUDA_ERROR_MPS_CONNECTION_FAILED",
     "MPS client failed to connect to the MPS control daemon or the MPS server"},
    {CUDA_ERROR_MPS_RPC_FAILURE, "CUDA_ERROR_MPS_RPC_FAILURE",
     "the remote procedural call between the MPS server and the MPS client failed"},
    {CUDA_ERROR_MPS_MAX_CLIENTS_REACHED, "CUDA_ERROR_MPS_MAX_CLIENTS_REACHED",
     "the hardware resources required to create MPS client have been exhausted"},
    {CUDA_ERROR_MPS_CLIENT_TERMINATED, "CUDA_ERROR_MPS_CLIENT_TERMINATED",
     "the MPS client has been terminated by the server"},
    {CUDA_ERROR_UNKNOWN, "CUDA_ERROR_UNKNOWN", "unknown error"},
};

CUresult TellText(CUresult error, const char* ErrorText::*which, const char** text) {
  if (text == nullptr) return CUDA_ERROR_INVALID_VALUE;
  for (const ErrorText& known : kErrorTexts) {
    if (known.code != error) continue;
    *text = known.*which;
    return CUDA_SUCCESS;
  }
  *text = nullptr;
  return CUDA_ERROR_INVALID_VALUE;
}

struct CallName {
  const char* name;
  void* function;
};

template <class F>
CallName Named(const char* name, F* function) {
  return {name, reinterpret_cast<void*>(function)};
}

constexpr int kSymbolFound = 0, kSymbolMissing = 1;

// Programs ask by the bare name and mean the newest form that their version of CUDA knows.
CUresult FindCall(const char* symbol, void** function, int version, int* status) {
  if (symbol == nullptr || function == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const CallName calls[] = {
      Named("cuInit", cuInit),
      Named("cuDriverGetVersion", cuDriverGetVersion),
      Named("cuGetErrorName", cuGetErrorName),
      Named("cuGetErrorString", cuGetErrorString),
      Named("cuGetProcAddress", cuGetProcAddress_v2),
      Named("cuDeviceGetCount", cuDeviceGetCount),
      Named("cuDeviceGet", cuDeviceGet),
      Named("cuDeviceGetName", cuDeviceGetName),
      Named("cuDeviceGetUuid", cuDeviceGetUuid_v2),
      Named("cuDeviceTotalMem", cuDeviceTotalMem_v2),
      Named("cuDeviceGetAttribute", cuDeviceGetAttribute),
      Named("cuDeviceComputeCapability", cuDeviceComputeCapability),
      Named("cuDeviceGetPCIBusId", cuDeviceGetPCIBusId),
      Named("cuDevicePrimaryCtxRetain", cuDevicePrimaryCtxRetain),
      Named("cuDevicePrimaryCtxRelease", cuDevicePrimaryCtxRelease_v2),
      Named("cuDevicePrimaryCtxGetState", cuDevicePrimaryCtxGetState),
      version >= 13000 ? Named("cuCtxCreate", cuCtxCreate_v4)
                       : Named("cuCtxCreate", cuCtxCreate_v2),
      Named("cuCtxDestroy", cuCtxDestroy_v2),
      Named("cuCtxPushCurrent", cuCtxPushCurrent_v2),
      Named("cuCtxPopCurrent", cuCtxPopCurrent_v2),
      Named("cuCtxGetCurrent", cuCtxGetCurrent),
      Named("cuCtxSetCurrent", cuCtxSetCurrent),
      Named("cuCtxGetDevice", cuCtxGetDevice),
      Named("cuCtxSynchronize", cuCtxSynchronize),
      Named("cuMemGetInfo", cuMemGetInfo_v2),
      Named("cuMemAlloc", cuMemAlloc_v2),
      Named("cuMemFree", cuMemFree_v2),
      Named("cuMemsetD8", cuMemsetD8_v2),
      Named("cuMemcpyHtoD", cuMemcpyHtoD_v2),
      Named("cuMemcpyDtoH", cuMemcpyDtoH_v2),
      Named("cuMemcpyDtoD", cuMemcpyDtoD_v2),
      Named("cuModuleLoadData", cuModuleLoadData),
      Named("cuModuleUnload", cuModuleUnload),
      Named("cuModuleGetFunction", cuModuleGetFunction),
      Named("cuLaunchKernel", cuLaunchKernel),
  };
  *function = nullptr;
  for (const CallName& call : calls) {
    if (strcmp(call.name, symbol) == 0) *function = call.function;
  }
  if (status != nullptr) *status = *function != nullptr ? kSymbolFound : kSymbolMissing;
  return *function != nullptr ? CUDA_SUCCESS : CUDA_ERROR_NOT_FOUND;
}

}  // namespace

CUDA_API(cuGetErrorName, CUresult error, const char** text) {
  return TellText(error, &ErrorText::name, text);
}
CUDA_API(cuGetErrorString, CUresult error, const char** text) {
  return TellText(error, &ErrorText::text, text);
}

CUDA_API(
    cuGetProcAddress_v2, const char* symbol, void** function, int version, uint64_t, int* status) {
  return FindCall(symbol, function, version, status);
}
CUDA_API(cuGetProcAddress, const char* symbol, void** function, int version, uint64_t) {
  return FindCall(symbol, function, version, nullptr);
}
