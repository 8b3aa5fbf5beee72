#include <cuda_runtime_api.h>

#include <utility>

#include "imbrex/device/cuda/api/cuda_error.h"
#include "raw/raw_stream.h"

namespace pingpong {

raw_stream::raw_stream(int gpu) {
  imbrex::check_cuda(cudaSetDevice(gpu), "choosing the GPU of a baseline");
  imbrex::check_cuda(cudaStreamCreateWithFlags(&native_, cudaStreamNonBlocking), "creating the stream of a baseline");
}

raw_stream::raw_stream(raw_stream&& other) noexcept : native_(std::exchange(other.native_, nullptr)) {}

raw_stream& raw_stream::operator=(raw_stream&& other) noexcept {
  std::swap(native_, other.native_);
  return *this;
}

raw_stream::~raw_stream() {
  if (native_ != nullptr) static_cast<void>(cudaStreamDestroy(native_));
}

void raw_stream::copy(void* to, const void* from, std::size_t bytes) {
  imbrex::check_cuda(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDefault, native_), "the copy of a baseline");
}

void raw_stream::copy_to_peer(void* to, int to_gpu, const void* from, int from_gpu, std::size_t bytes) {
  imbrex::check_cuda(cudaMemcpyPeerAsync(to, to_gpu, from, from_gpu, bytes, native_), "the peer copy of a baseline");
}

void raw_stream::wait() { imbrex::check_cuda(cudaStreamSynchronize(native_), "waiting for the stream of a baseline"); }

}  // namespace pingpong
