#pragma once

#include <cstddef>

struct CUstream_st;  // what a cudaStream_t points to

namespace pingpong {

/// A stream of the driver's own, for the baselines: imbrex does not know of it. Movable.
class raw_stream {
 public:
  raw_stream() = default;
  /// Of the GPU with that number, which becomes the calling thread's. Throws device_error, as all members do.
  explicit raw_stream(int gpu);
  raw_stream(raw_stream&& other) noexcept;
  raw_stream& operator=(raw_stream&& other) noexcept;
  ~raw_stream();

  /// Between memory of the host and of GPUs.
  void copy(void* to, const void* from, std::size_t bytes);
  /// From memory of one GPU to that of another.
  void copy_to_peer(void* to, int to_gpu, const void* from, int from_gpu, std::size_t bytes);
  /// Blocks until all of it has finished.
  void wait();

 private:
  CUstream_st* native_ = nullptr;
};

}  // namespace pingpong
