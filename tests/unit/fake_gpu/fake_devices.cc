// What there is.
#include <cstdio>
#include <cstring>
#include <utility>

#include "fake_machine.h"

using namespace fake_cuda;

extern "C" {

cudaError_t cudaGetDeviceCount(int* n) {
  *n = the_machine().what.gpus;
  return cudaSuccess;
}
cudaError_t cudaSetDevice(int gpu) {
  count_call("cudaSetDevice");
  if (gpu >= the_machine().what.gpus) return result(cudaErrorInvalidDevice);
  current_gpu = gpu;
  return cudaSuccess;
}
#undef cudaGetDeviceProperties
cudaError_t cudaGetDeviceProperties(cudaDeviceProp* p, int gpu) {
  std::memset(p, 0, sizeof *p);
  std::snprintf(p->name, sizeof p->name, "a fake GPU");
  p->uuid.bytes[0] = static_cast<char>(gpu + 1);
  p->multiProcessorCount = the_machine().what.multiprocessors;
  return cudaSuccess;
}
cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr what, int) {
  *value = what == cudaDevAttrMultiProcessorCount      ? the_machine().what.multiprocessors
           : what == cudaDevAttrComputeCapabilityMajor ? 9
                                                       : 0;
  return cudaSuccess;
}
// Kernels from strings: all are one, which does nothing.
cudaError_t cudaLibraryLoadData(cudaLibrary_t* library, const void* code, cudaJitOption*, void**, unsigned,
                                cudaLibraryOption*, void**, unsigned) {
  fake_cuda::count_call("cudaLibraryLoadData");
  *library = reinterpret_cast<cudaLibrary_t>(const_cast<void*>(code));
  return std::memcmp(code, "\177ELF", 4) == 0 ? cudaSuccess : result(cudaErrorInvalidKernelImage);
}
cudaError_t cudaLibraryGetKernel(cudaKernel_t* kernel, cudaLibrary_t library, const char*) {
  *kernel = reinterpret_cast<cudaKernel_t>(library);
  return cudaSuccess;
}
cudaError_t cudaThreadExchangeStreamCaptureMode(cudaStreamCaptureMode* mode) {
  thread_local cudaStreamCaptureMode current = cudaStreamCaptureModeGlobal;
  std::swap(*mode, current);
  return cudaSuccess;
}
cudaError_t cudaDeviceGetPCIBusId(char* text, int size, int gpu) {
  std::snprintf(text, static_cast<std::size_t>(size), "0000:%02x:00.0", gpu + 1);
  return cudaSuccess;
}
cudaError_t cudaDeviceGetStreamPriorityRange(int* least, int* most) {
  *least = 0;
  *most = -5;
  return cudaSuccess;
}
cudaError_t cudaDeviceCanAccessPeer(int* can, int from, int to) {
  *can = from != to && !the_machine().apart.contains({from, to}) ? 1 : 0;
  return cudaSuccess;
}
cudaError_t cudaDeviceEnablePeerAccess(int to, unsigned) {
  machine& m = the_machine();
  const std::lock_guard lock(m.mutex);
  if (m.apart.contains({current_gpu, to})) return result(cudaErrorPeerAccessUnsupported);
  m.enabled.emplace(current_gpu, to);
  return cudaSuccess;
}
cudaError_t cudaDriverGetVersion(int* v) {
  *v = CUDART_VERSION;
  return cudaSuccess;
}
cudaError_t cudaRuntimeGetVersion(int* v) {
  *v = CUDART_VERSION;
  return cudaSuccess;
}
cudaError_t cudaGetLastError() {
  const cudaError_t e = last_error;
  last_error = cudaSuccess;
  return e;
}
cudaError_t cudaPeekAtLastError() { return last_error; }
const char* cudaGetErrorName(cudaError_t e) { return e == cudaErrorNotReady ? "cudaErrorNotReady" : "an error"; }
const char* cudaGetErrorString(cudaError_t e) { return e == cudaSuccess ? "no error" : "a fake driver's error"; }

}  // extern "C"
