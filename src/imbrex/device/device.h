#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "imbrex/device/memory_kind.h"
#include "imbrex/device/stream.h"

namespace imbrex {

enum class device_kind : std::uint8_t { host, cuda, opencl };

constexpr const char* to_string(device_kind k) {
  switch (k) {
    case device_kind::host: return "host";
    case device_kind::cuda: return "cuda";
    case device_kind::opencl: return "opencl";
  }
  return "?";
}

/// Bytes of a device's memory.
struct memory_info {
  std::uint64_t total = 0;
  std::uint64_t free = 0;
};

/// Where kernels run and memory lives. The host device is one like any other, so every program runs without a GPU.
class device {
 public:
  virtual ~device() = default;
  device(const device&) = delete;
  device& operator=(const device&) = delete;

  virtual device_kind kind() const = 0;
  /// Which of its kind in this process.
  virtual int number() const = 0;
  /// "host", "NVIDIA H200", ...
  virtual std::string name() const = 0;
  virtual memory_info memory() const = 0;

  /// The kind of memory `allocate` gives.
  virtual memory_kind allocates() const = 0;
  /// Uninitialised memory of the device, aligned to 64 bytes, from a pool. Throws `out_of_memory`.
  virtual void* allocate(std::size_t bytes) = 0;
  /// Gives back what `allocate(bytes)` gave; no operation on it may be pending.
  virtual void free(void* memory, std::size_t bytes) noexcept = 0;

  /// A new stream; the device outlives it.
  virtual std::unique_ptr<stream> make_stream(stream_priority p) = 0;

 protected:
  device() = default;
};

/// The streams a chare has, as in Choi et al. 2022 (III-C): computation apart from what moves halos.
struct stream_set {
  explicit stream_set(device& d)
      : compute_(d.make_stream(stream_priority::low)),
        pack_(d.make_stream(stream_priority::high)),
        unpack_(d.make_stream(stream_priority::high)),
        to_host_(d.make_stream(stream_priority::high)),
        to_device_(d.make_stream(stream_priority::high)) {}

 private:
  std::unique_ptr<stream> compute_, pack_, unpack_, to_host_, to_device_;

 public:
  stream& compute = *compute_;
  stream& pack = *pack_;
  stream& unpack = *unpack_;
  stream& to_host = *to_host_;
  stream& to_device = *to_device_;
};

}  // namespace imbrex
