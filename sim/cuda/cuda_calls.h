// The exported calls. A name with a number is the newer form that programs bind to; the bare one is
// for programs that look a name up themselves.
#pragma once

#include "sim/cuda/cuda_abi.h"

#define CUDA_API(function, ...) \
  extern "C" __attribute__((visibility("default"))) CUresult function(__VA_ARGS__)

CUDA_API(cuInit, unsigned int flags);
CUDA_API(cuDriverGetVersion, int* version);
CUDA_API(cuGetErrorName, CUresult error, const char** text);
CUDA_API(cuGetErrorString, CUresult error, const char** text);
CUDA_API(cuGetProcAddress, const char* symbol, void** function, int version, uint64_t flags);
CUDA_API(cuGetProcAddress_v2,
         const char* symbol,
         void** function,
         int version,
         uint64_t flags,
         int* status);

CUDA_API(cuDeviceGetCount, int* count);
CUDA_API(cuDeviceGet, CUdevice* device, int ordinal);
CUDA_API(cuDeviceGetName, char* name, int size, CUdevice device);
CUDA_API(cuDeviceGetUuid, CUuuid* uuid, CUdevice device);
CUDA_API(cuDeviceGetUuid_v2, CUuuid* uuid, CUdevice device);
CUDA_API(cuDeviceTotalMem, size_t* bytes, CUdevice device);
CUDA_API(cuDeviceTotalMem_v2, size_t* bytes, CUdevice device);
CUDA_API(cuDeviceGetAttribute, int* value, int attribute, CUdevice device);
CUDA_API(cuDeviceComputeCapability, int* major, int* minor, CUdevice device);
CUDA_API(cuDeviceGetPCIBusId, char* text, int size, CUdevice device);

CUDA_API(cuDevicePrimaryCtxRetain, CUcontext* context, CUdevice device);
CUDA_API(cuDevicePrimaryCtxRelease, CUdevice device);
CUDA_API(cuDevicePrimaryCtxRelease_v2, CUdevice device);
CUDA_API(cuDevicePrimaryCtxGetState, CUdevice device, unsigned int* flags, int* active);
CUDA_API(cuCtxCreate, CUcontext* context, unsigned int flags, CUdevice device);
CUDA_API(cuCtxCreate_v2, CUcontext* context, unsigned int flags, CUdevice device);
CUDA_API(cuCtxCreate_v4, CUcontext* context, void* parameters, unsigned int flags, CUdevice device);
CUDA_API(cuCtxDestroy, CUcontext context);
CUDA_API(cuCtxDestroy_v2, CUcontext context);
CUDA_API(cuCtxPushCurrent, CUcontext context);
CUDA_API(cuCtxPushCurrent_v2, CUcontext context);
CUDA_API(cuCtxPopCurrent, CUcontext* context);
CUDA_API(cuCtxPopCurrent_v2, CUcontext* context);
CUDA_API(cuCtxGetCurrent, CUcontext* context);
CUDA_API(cuCtxSetCurrent, CUcontext context);
CUDA_API(cuCtxGetDevice, CUdevice* device);
CUDA_API(cuCtxSynchronize, void);

CUDA_API(cuMemGetInfo, size_t* free, size_t* total);
CUDA_API(cuMemGetInfo_v2, size_t* free, size_t* total);
CUDA_API(cuMemAlloc, CUdeviceptr* pointer, size_t size);
CUDA_API(cuMemAlloc_v2, CUdeviceptr* pointer, size_t size);
CUDA_API(cuMemFree, CUdeviceptr pointer);
CUDA_API(cuMemFree_v2, CUdeviceptr pointer);
CUDA_API(cuMemsetD8, CUdeviceptr pointer, unsigned char value, size_t size);
CUDA_API(cuMemsetD8_v2, CUdeviceptr pointer, unsigned char value, size_t size);
CUDA_API(cuMemcpyHtoD, CUdeviceptr to, const void* from, size_t size);
CUDA_API(cuMemcpyHtoD_v2, CUdeviceptr to, const void* from, size_t size);
CUDA_API(cuMemcpyDtoH, void* to, CUdeviceptr from, size_t size);
CUDA_API(cuMemcpyDtoH_v2, void* to, CUdeviceptr from, size_t size);
CUDA_API(cuMemcpyDtoD, CUdeviceptr to, CUdeviceptr from, size_t size);
CUDA_API(cuMemcpyDtoD_v2, CUdeviceptr to, CUdeviceptr from, size_t size);

CUDA_API(cuModuleLoadData, CUmodule* module, const void* image);
CUDA_API(cuModuleUnload, CUmodule module);
CUDA_API(cuModuleGetFunction, CUfunction* function, CUmodule module, const char* name);
CUDA_API(cuLaunchKernel,
         CUfunction function,
         unsigned int grid_x,
         unsigned int grid_y,
         unsigned int grid_z,
         unsigned int block_x,
         unsigned int block_y,
         unsigned int block_z,
         unsigned int shared_bytes,
         CUstream stream,
         void** parameters,
         void** extra);
