// The driver's functions that the tests call, as fake_cuda.cc has them.
#pragma once

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef uint64_t device_pointer;

int cuInit(unsigned flags);
int cuCtxGetCurrent(void** context);
int cuCtxSetCurrent(void* context);
int cuCtxPushCurrent_v2(void* context);
int cuCtxPopCurrent_v2(void** context);
int cuCtxCreate_v2(void** context, unsigned flags, int device);
int cuCtxDestroy_v2(void* context);
int cuDeviceGetCount(int* count);
int cuDevicePrimaryCtxRetain(void** context, int device); /* there are two */
int cuPointerSetAttribute(const void* value, int attribute, device_pointer pointer);
int cuPointerGetAttribute(void* data, int attribute, device_pointer pointer);
int cuPointerGetAttributes(unsigned count, int* attributes, void** data, device_pointer pointer);
int cuMemAlloc_v2(device_pointer* made, size_t bytes);
int cuMemAllocManaged(device_pointer* made, size_t bytes, unsigned flags);
int cuMemFree_v2(device_pointer memory);
int cuMemAllocHost_v2(void** made, size_t bytes);
int cuMemFreeHost(void* memory);
int cuMemHostRegister_v2(void* memory, size_t bytes, unsigned flags);
int cuMemHostUnregister(void* memory);
int cuMemcpyDtoH_v2(void* to, device_pointer from, size_t bytes);
int cuMemcpyHtoD_v2(device_pointer to, const void* from, size_t bytes);
int cuModuleUnload(void* module);
typedef struct {
  char reserved[64];
} fake_ipc_handle;
int cuIpcGetMemHandle(fake_ipc_handle* handle, device_pointer memory);
int cuIpcOpenMemHandle_v2(device_pointer* made, fake_ipc_handle handle, unsigned flags);
int cuIpcCloseMemHandle(device_pointer memory);
int cuMemGetAddressRange_v2(device_pointer* start, size_t* bytes, device_pointer pointer);
int cuGetProcAddress_v2(const char* name, void** found, int version, uint64_t flags, int* status);

/// As CUDA_MEMCPY2D.
typedef struct {
  size_t x, y;
  unsigned memory_type;
  void* host;
  device_pointer device;
  void* array;
  size_t pitch;
} fake_memcpy_side;
typedef struct {
  fake_memcpy_side from, to;
  size_t width, height;
} fake_memcpy_2d;
int cuMemcpy2DAsync_v2(const fake_memcpy_2d* copy, void* stream);

/// Pointer queries that reached the driver.
unsigned long fake_cuda_queries(void);
/// How often a default stream was waited for. NVIDIA's driver does not tell: then 0.
unsigned long fake_cuda_waits_for_default_stream(void);
/// Device memory that no function of the driver's interface announces.
device_pointer fake_cuda_secret_memory(void);
/// The same: two allocations of whole pages, the second where the first ends.
device_pointer fake_cuda_abutting_memory(size_t bytes_of_each);

/// Without a context there is no memory.
static inline void* use_device(int ordinal) {
  void* context = NULL;
  cuInit(0);
  cuDevicePrimaryCtxRetain(&context, ordinal);
  cuCtxSetCurrent(context);
  return context;
}

#ifdef __cplusplus
}
#endif
