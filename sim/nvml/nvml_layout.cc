// The sizes and offsets that clients were compiled with, as published for API 13.3 and seen on
// driver 580: a field that moves corrupts a caller's stack, so it must not compile.

#include <stddef.h>

#include "sim/nvml/nvml_abi.h"

#define SIZE(type, bytes) static_assert(sizeof(type) == (bytes))
#define AT(type, field, offset) static_assert(offsetof(type, field) == (offset))
// A struct's tag is its size with its version in the top byte.
#define TAG(tag, type) static_assert(((tag)&0xFFFFFF) == sizeof(type))

static_assert(sizeof(nvmlReturn_t) == 4 && sizeof(nvmlEnableState_t) == 4);
static_assert(sizeof(nvmlDevice_t) == 8 && sizeof(nvmlEventSet_t) == 8);
static_assert(sizeof(nvmlValue_t) == 8);
// The old names write a prefix of today's structs: 32 and 36 bytes of PCI, 24 of an event.
static_assert(offsetof(nvmlPciInfo_t, pciSubSystemId) == 32 &&
              offsetof(nvmlPciInfo_t, busId) == 36);
static_assert(offsetof(nvmlEventData_t, gpuInstanceId) == 24);

SIZE(nvmlPciInfo_t, 68);
AT(nvmlPciInfo_t, busIdLegacy, 0);
AT(nvmlPciInfo_t, domain, 16);
AT(nvmlPciInfo_t, bus, 20);
AT(nvmlPciInfo_t, device, 24);
AT(nvmlPciInfo_t, pciDeviceId, 28);
AT(nvmlPciInfo_t, pciSubSystemId, 32);
AT(nvmlPciInfo_t, busId, 36);

SIZE(nvmlPciInfoExt_v1_t, 64);
TAG(nvmlPciInfoExt_v1, nvmlPciInfoExt_v1_t);
AT(nvmlPciInfoExt_v1_t, version, 0);
AT(nvmlPciInfoExt_v1_t, domain, 4);
AT(nvmlPciInfoExt_v1_t, bus, 8);
AT(nvmlPciInfoExt_v1_t, device, 12);
AT(nvmlPciInfoExt_v1_t, pciDeviceId, 16);
AT(nvmlPciInfoExt_v1_t, pciSubSystemId, 20);
AT(nvmlPciInfoExt_v1_t, baseClass, 24);
AT(nvmlPciInfoExt_v1_t, subClass, 28);
AT(nvmlPciInfoExt_v1_t, busId, 32);

SIZE(nvmlMemory_t, 24);
AT(nvmlMemory_t, total, 0);
AT(nvmlMemory_t, free, 8);
AT(nvmlMemory_t, used, 16);

SIZE(nvmlMemory_v2_t, 40);
TAG(nvmlMemory_v2, nvmlMemory_v2_t);
AT(nvmlMemory_v2_t, version, 0);
AT(nvmlMemory_v2_t, total, 8);
AT(nvmlMemory_v2_t, reserved, 16);
AT(nvmlMemory_v2_t, free, 24);
AT(nvmlMemory_v2_t, used, 32);

SIZE(nvmlBAR1Memory_t, 24);
AT(nvmlBAR1Memory_t, bar1Total, 0);
AT(nvmlBAR1Memory_t, bar1Free, 8);
AT(nvmlBAR1Memory_t, bar1Used, 16);

SIZE(nvmlUtilization_t, 8);
AT(nvmlUtilization_t, gpu, 0);
AT(nvmlUtilization_t, memory, 4);

SIZE(nvmlDeviceAddressingMode_v1_t, 8);
TAG(nvmlDeviceAddressingMode_v1, nvmlDeviceAddressingMode_v1_t);
AT(nvmlDeviceAddressingMode_v1_t, version, 0);
AT(nvmlDeviceAddressingMode_v1_t, value, 4);

SIZE(nvmlGpuFabricInfo_t, 28);
AT(nvmlGpuFabricInfo_t, clusterUuid, 0);
AT(nvmlGpuFabricInfo_t, status, 16);
AT(nvmlGpuFabricInfo_t, cliqueId, 20);
AT(nvmlGpuFabricInfo_t, state, 24);

SIZE(nvmlGpuFabricInfo_v2_t, 36);
TAG(nvmlGpuFabricInfo_v2, nvmlGpuFabricInfo_v2_t);
AT(nvmlGpuFabricInfo_v2_t, version, 0);
AT(nvmlGpuFabricInfo_v2_t, clusterUuid, 4);
AT(nvmlGpuFabricInfo_v2_t, status, 20);
AT(nvmlGpuFabricInfo_v2_t, cliqueId, 24);
AT(nvmlGpuFabricInfo_v2_t, state, 28);
AT(nvmlGpuFabricInfo_v2_t, healthMask, 32);

SIZE(nvmlGpuFabricInfo_v3_t, 40);
TAG(nvmlGpuFabricInfo_v3, nvmlGpuFabricInfo_v3_t);
AT(nvmlGpuFabricInfo_v3_t, version, 0);
AT(nvmlGpuFabricInfo_v3_t, clusterUuid, 4);
AT(nvmlGpuFabricInfo_v3_t, status, 20);
AT(nvmlGpuFabricInfo_v3_t, cliqueId, 24);
AT(nvmlGpuFabricInfo_v3_t, state, 28);
AT(nvmlGpuFabricInfo_v3_t, healthMask, 32);
AT(nvmlGpuFabricInfo_v3_t, healthSummary, 36);

SIZE(nvmlFieldValue_t, 40);
AT(nvmlFieldValue_t, fieldId, 0);
AT(nvmlFieldValue_t, scopeId, 4);
AT(nvmlFieldValue_t, timestamp, 8);
AT(nvmlFieldValue_t, latencyUsec, 16);
AT(nvmlFieldValue_t, valueType, 24);
AT(nvmlFieldValue_t, nvmlReturn, 28);
AT(nvmlFieldValue_t, value, 32);

SIZE(nvmlProcessInfo_v1_t, 16);
AT(nvmlProcessInfo_v1_t, pid, 0);
AT(nvmlProcessInfo_v1_t, usedGpuMemory, 8);

SIZE(nvmlProcessInfo_v2_t, 24);
AT(nvmlProcessInfo_v2_t, pid, 0);
AT(nvmlProcessInfo_v2_t, usedGpuMemory, 8);
AT(nvmlProcessInfo_v2_t, gpuInstanceId, 16);
AT(nvmlProcessInfo_v2_t, computeInstanceId, 20);

SIZE(nvmlProcessDetail_v1_t, 32);
AT(nvmlProcessDetail_v1_t, pid, 0);
AT(nvmlProcessDetail_v1_t, usedGpuMemory, 8);
AT(nvmlProcessDetail_v1_t, gpuInstanceId, 16);
AT(nvmlProcessDetail_v1_t, computeInstanceId, 20);
AT(nvmlProcessDetail_v1_t, usedGpuCcProtectedMemory, 24);

SIZE(nvmlProcessDetailList_v1_t, 24);
TAG(nvmlProcessDetailList_v1, nvmlProcessDetailList_v1_t);
AT(nvmlProcessDetailList_v1_t, version, 0);
AT(nvmlProcessDetailList_v1_t, mode, 4);
AT(nvmlProcessDetailList_v1_t, numProcArrayEntries, 8);
AT(nvmlProcessDetailList_v1_t, procArray, 16);

SIZE(nvmlEventData_t, 32);
AT(nvmlEventData_t, device, 0);
AT(nvmlEventData_t, eventType, 8);
AT(nvmlEventData_t, eventData, 16);
AT(nvmlEventData_t, gpuInstanceId, 24);
AT(nvmlEventData_t, computeInstanceId, 28);

SIZE(nvmlSystemEventSetCreateRequest_v1_t, 16);
TAG(nvmlSystemEventSetCreateRequest_v1, nvmlSystemEventSetCreateRequest_v1_t);
AT(nvmlSystemEventSetCreateRequest_v1_t, set, 8);
SIZE(nvmlSystemEventSetFreeRequest_v1_t, 16);
TAG(nvmlSystemEventSetFreeRequest_v1, nvmlSystemEventSetFreeRequest_v1_t);
AT(nvmlSystemEventSetFreeRequest_v1_t, set, 8);
SIZE(nvmlSystemRegisterEventRequest_v1_t, 24);
TAG(nvmlSystemRegisterEventRequest_v1, nvmlSystemRegisterEventRequest_v1_t);
AT(nvmlSystemRegisterEventRequest_v1_t, eventTypes, 8);
AT(nvmlSystemRegisterEventRequest_v1_t, set, 16);
SIZE(nvmlSystemEventData_v1_t, 16);
AT(nvmlSystemEventData_v1_t, gpuId, 8);
SIZE(nvmlSystemEventSetWaitRequest_v1_t, 32);
TAG(nvmlSystemEventSetWaitRequest_v1, nvmlSystemEventSetWaitRequest_v1_t);
AT(nvmlSystemEventSetWaitRequest_v1_t, timeoutms, 4);
AT(nvmlSystemEventSetWaitRequest_v1_t, set, 8);
AT(nvmlSystemEventSetWaitRequest_v1_t, data, 16);
AT(nvmlSystemEventSetWaitRequest_v1_t, dataSize, 24);
AT(nvmlSystemEventSetWaitRequest_v1_t, numEvent, 28);

SIZE(nvmlDeviceAttributes_t, 40);
AT(nvmlDeviceAttributes_t, multiprocessorCount, 0);
AT(nvmlDeviceAttributes_t, sharedCopyEngineCount, 4);
AT(nvmlDeviceAttributes_t, sharedDecoderCount, 8);
AT(nvmlDeviceAttributes_t, sharedEncoderCount, 12);
AT(nvmlDeviceAttributes_t, sharedJpegCount, 16);
AT(nvmlDeviceAttributes_t, sharedOfaCount, 20);
AT(nvmlDeviceAttributes_t, gpuInstanceSliceCount, 24);
AT(nvmlDeviceAttributes_t, computeInstanceSliceCount, 28);
AT(nvmlDeviceAttributes_t, memorySizeMB, 32);

SIZE(nvmlGpuInstancePlacement_t, 8);
AT(nvmlGpuInstancePlacement_t, start, 0);
AT(nvmlGpuInstancePlacement_t, size, 4);

SIZE(nvmlGpuInstanceProfileInfo_t, 48);
AT(nvmlGpuInstanceProfileInfo_t, id, 0);
AT(nvmlGpuInstanceProfileInfo_t, isP2pSupported, 4);
AT(nvmlGpuInstanceProfileInfo_t, sliceCount, 8);
AT(nvmlGpuInstanceProfileInfo_t, instanceCount, 12);
AT(nvmlGpuInstanceProfileInfo_t, multiprocessorCount, 16);
AT(nvmlGpuInstanceProfileInfo_t, copyEngineCount, 20);
AT(nvmlGpuInstanceProfileInfo_t, decoderCount, 24);
AT(nvmlGpuInstanceProfileInfo_t, encoderCount, 28);
AT(nvmlGpuInstanceProfileInfo_t, jpegCount, 32);
AT(nvmlGpuInstanceProfileInfo_t, ofaCount, 36);
AT(nvmlGpuInstanceProfileInfo_t, memorySizeMB, 40);

SIZE(nvmlGpuInstanceProfileInfo_v2_t, 152);
TAG(nvmlGpuInstanceProfileInfo_v2, nvmlGpuInstanceProfileInfo_v2_t);
AT(nvmlGpuInstanceProfileInfo_v2_t, version, 0);
AT(nvmlGpuInstanceProfileInfo_v2_t, id, 4);
AT(nvmlGpuInstanceProfileInfo_v2_t, isP2pSupported, 8);
AT(nvmlGpuInstanceProfileInfo_v2_t, sliceCount, 12);
AT(nvmlGpuInstanceProfileInfo_v2_t, instanceCount, 16);
AT(nvmlGpuInstanceProfileInfo_v2_t, multiprocessorCount, 20);
AT(nvmlGpuInstanceProfileInfo_v2_t, copyEngineCount, 24);
AT(nvmlGpuInstanceProfileInfo_v2_t, decoderCount, 28);
AT(nvmlGpuInstanceProfileInfo_v2_t, encoderCount, 32);
AT(nvmlGpuInstanceProfileInfo_v2_t, jpegCount, 36);
AT(nvmlGpuInstanceProfileInfo_v2_t, ofaCount, 40);
AT(nvmlGpuInstanceProfileInfo_v2_t, memorySizeMB, 48);
AT(nvmlGpuInstanceProfileInfo_v2_t, name, 56);

SIZE(nvmlGpuInstanceProfileInfo_v3_t, 152);
TAG(nvmlGpuInstanceProfileInfo_v3, nvmlGpuInstanceProfileInfo_v3_t);
AT(nvmlGpuInstanceProfileInfo_v3_t, version, 0);
AT(nvmlGpuInstanceProfileInfo_v3_t, id, 4);
AT(nvmlGpuInstanceProfileInfo_v3_t, sliceCount, 8);
AT(nvmlGpuInstanceProfileInfo_v3_t, instanceCount, 12);
AT(nvmlGpuInstanceProfileInfo_v3_t, multiprocessorCount, 16);
AT(nvmlGpuInstanceProfileInfo_v3_t, copyEngineCount, 20);
AT(nvmlGpuInstanceProfileInfo_v3_t, decoderCount, 24);
AT(nvmlGpuInstanceProfileInfo_v3_t, encoderCount, 28);
AT(nvmlGpuInstanceProfileInfo_v3_t, jpegCount, 32);
AT(nvmlGpuInstanceProfileInfo_v3_t, ofaCount, 36);
AT(nvmlGpuInstanceProfileInfo_v3_t, memorySizeMB, 40);
AT(nvmlGpuInstanceProfileInfo_v3_t, name, 48);
AT(nvmlGpuInstanceProfileInfo_v3_t, capabilities, 144);

SIZE(nvmlGpuInstanceInfo_t, 24);
AT(nvmlGpuInstanceInfo_t, device, 0);
AT(nvmlGpuInstanceInfo_t, id, 8);
AT(nvmlGpuInstanceInfo_t, profileId, 12);
AT(nvmlGpuInstanceInfo_t, placement, 16);

SIZE(nvmlComputeInstancePlacement_t, 8);
AT(nvmlComputeInstancePlacement_t, start, 0);
AT(nvmlComputeInstancePlacement_t, size, 4);

SIZE(nvmlComputeInstanceProfileInfo_t, 36);
AT(nvmlComputeInstanceProfileInfo_t, id, 0);
AT(nvmlComputeInstanceProfileInfo_t, sliceCount, 4);
AT(nvmlComputeInstanceProfileInfo_t, instanceCount, 8);
AT(nvmlComputeInstanceProfileInfo_t, multiprocessorCount, 12);
AT(nvmlComputeInstanceProfileInfo_t, sharedCopyEngineCount, 16);
AT(nvmlComputeInstanceProfileInfo_t, sharedDecoderCount, 20);
AT(nvmlComputeInstanceProfileInfo_t, sharedEncoderCount, 24);
AT(nvmlComputeInstanceProfileInfo_t, sharedJpegCount, 28);
AT(nvmlComputeInstanceProfileInfo_t, sharedOfaCount, 32);

SIZE(nvmlComputeInstanceProfileInfo_v2_t, 136);
TAG(nvmlComputeInstanceProfileInfo_v2, nvmlComputeInstanceProfileInfo_v2_t);
AT(nvmlComputeInstanceProfileInfo_v2_t, version, 0);
AT(nvmlComputeInstanceProfileInfo_v2_t, id, 4);
AT(nvmlComputeInstanceProfileInfo_v2_t, sliceCount, 8);
AT(nvmlComputeInstanceProfileInfo_v2_t, instanceCount, 12);
AT(nvmlComputeInstanceProfileInfo_v2_t, multiprocessorCount, 16);
AT(nvmlComputeInstanceProfileInfo_v2_t, sharedCopyEngineCount, 20);
AT(nvmlComputeInstanceProfileInfo_v2_t, sharedDecoderCount, 24);
AT(nvmlComputeInstanceProfileInfo_v2_t, sharedEncoderCount, 28);
AT(nvmlComputeInstanceProfileInfo_v2_t, sharedJpegCount, 32);
AT(nvmlComputeInstanceProfileInfo_v2_t, sharedOfaCount, 36);
AT(nvmlComputeInstanceProfileInfo_v2_t, name, 40);

SIZE(nvmlComputeInstanceProfileInfo_v3_t, 140);
TAG(nvmlComputeInstanceProfileInfo_v3, nvmlComputeInstanceProfileInfo_v3_t);
AT(nvmlComputeInstanceProfileInfo_v3_t, version, 0);
AT(nvmlComputeInstanceProfileInfo_v3_t, id, 4);
AT(nvmlComputeInstanceProfileInfo_v3_t, sliceCount, 8);
AT(nvmlComputeInstanceProfileInfo_v3_t, instanceCount, 12);
AT(nvmlComputeInstanceProfileInfo_v3_t, multiprocessorCount, 16);
AT(nvmlComputeInstanceProfileInfo_v3_t, sharedCopyEngineCount, 20);
AT(nvmlComputeInstanceProfileInfo_v3_t, sharedDecoderCount, 24);
AT(nvmlComputeInstanceProfileInfo_v3_t, sharedEncoderCount, 28);
AT(nvmlComputeInstanceProfileInfo_v3_t, sharedJpegCount, 32);
AT(nvmlComputeInstanceProfileInfo_v3_t, sharedOfaCount, 36);
AT(nvmlComputeInstanceProfileInfo_v3_t, name, 40);
AT(nvmlComputeInstanceProfileInfo_v3_t, capabilities, 136);

SIZE(nvmlComputeInstanceInfo_t, 32);
AT(nvmlComputeInstanceInfo_t, device, 0);
AT(nvmlComputeInstanceInfo_t, gpuInstance, 8);
AT(nvmlComputeInstanceInfo_t, id, 16);
AT(nvmlComputeInstanceInfo_t, profileId, 20);
AT(nvmlComputeInstanceInfo_t, placement, 24);
