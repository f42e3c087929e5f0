// Our own declarations of the part of CUDA's driver interface that is simulated: types, codes and
// attribute numbers as a program that was compiled against NVIDIA's header has them.
#pragma once

#include <stddef.h>
#include <stdint.h>

namespace partita::sim::cuda {
struct Context;
struct Module;
struct Function;
}  // namespace partita::sim::cuda

typedef int CUdevice;
typedef uint64_t CUdeviceptr;
typedef partita::sim::cuda::Context* CUcontext;
typedef partita::sim::cuda::Module* CUmodule;
typedef partita::sim::cuda::Function* CUfunction;
typedef void* CUstream;

struct CUuuid {
  char bytes[16];
};

// Values that come in are the caller's, so this is a plain number and no enum.
typedef int CUresult;

inline constexpr CUresult CUDA_SUCCESS = 0;
inline constexpr CUresult CUDA_ERROR_INVALID_VALUE = 1;
inline constexpr CUresult CUDA_ERROR_OUT_OF_MEMORY = 2;
inline constexpr CUresult CUDA_ERROR_NOT_INITIALIZED = 3;
inline constexpr CUresult CUDA_ERROR_DEVICE_UNAVAILABLE = 46;
inline constexpr CUresult CUDA_ERROR_NO_DEVICE = 100;
inline constexpr CUresult CUDA_ERROR_INVALID_DEVICE = 101;
inline constexpr CUresult CUDA_ERROR_INVALID_IMAGE = 200;
inline constexpr CUresult CUDA_ERROR_INVALID_CONTEXT = 201;
inline constexpr CUresult CUDA_ERROR_INVALID_HANDLE = 400;
inline constexpr CUresult CUDA_ERROR_NOT_FOUND = 500;
inline constexpr CUresult CUDA_ERROR_ILLEGAL_ADDRESS = 700;
inline constexpr CUresult CUDA_ERROR_PRIMARY_CONTEXT_ACTIVE = 708;
inline constexpr CUresult CUDA_ERROR_NOT_SUPPORTED = 801;
inline constexpr CUresult CUDA_ERROR_SYSTEM_DRIVER_MISMATCH = 803;
inline constexpr CUresult CUDA_ERROR_MPS_CONNECTION_FAILED = 805;
inline constexpr CUresult CUDA_ERROR_MPS_RPC_FAILURE = 806;
inline constexpr CUresult CUDA_ERROR_MPS_MAX_CLIENTS_REACHED = 808;
inline constexpr CUresult CUDA_ERROR_MPS_CLIENT_TERMINATED = 810;
inline constexpr CUresult CUDA_ERROR_UNKNOWN = 999;

inline constexpr int CU_DEVICE_ATTRIBUTE_WARP_SIZE = 10;
inline constexpr int CU_DEVICE_ATTRIBUTE_CLOCK_RATE = 13;
inline constexpr int CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT = 16;
inline constexpr int CU_DEVICE_ATTRIBUTE_INTEGRATED = 18;
inline constexpr int CU_DEVICE_ATTRIBUTE_COMPUTE_MODE = 20;
inline constexpr int CU_DEVICE_ATTRIBUTE_ECC_ENABLED = 32;
inline constexpr int CU_DEVICE_ATTRIBUTE_PCI_BUS_ID = 33;
inline constexpr int CU_DEVICE_ATTRIBUTE_PCI_DEVICE_ID = 34;
inline constexpr int CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE = 36;
inline constexpr int CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH = 37;
inline constexpr int CU_DEVICE_ATTRIBUTE_PCI_DOMAIN_ID = 50;
inline constexpr int CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR = 75;
inline constexpr int CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR = 76;
// One past the last attribute of CUDA 13.0: numbers below it are attributes, those above are not.
inline constexpr int CU_DEVICE_ATTRIBUTE_MAX = 145;
