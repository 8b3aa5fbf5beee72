#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "imbrex/base/error.h"
#include "imbrex/device/memory_kind.h"
#include "imbrex/device/shared_memory.h"
#include "imbrex/device/stream.h"

namespace imbrex {

class memory_guards;

/// What a device is: the PEs' own threads, a GPU by CUDA, or one of OpenCL.
enum class device_kind { host, cuda, opencl };

/// "host", "cuda" or "opencl".
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
  double bytes_per_second = 0;  ///< that can be read or written, as the driver tells; 0: unknown
};

/// What a pool of memory has handed out.
struct memory_usage {
  std::uint64_t in_use = 0;        ///< bytes handed out now
  std::uint64_t high_water = 0;    ///< the most that ever was
  std::uint64_t held = 0;          ///< bytes taken from the system
  std::uint64_t system_calls = 0;  ///< how often the system was asked: constant in steady state
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

  /// The kind of its own memory: `device` for a GPU, `host` for the host.
  virtual memory_kind allocates() const = 0;
  /// Uninitialised memory, aligned to 64 bytes, from a pool: the device's own, or `pinned` memory, which the host and
  /// the device both reach. (Of the host device both are host memory.) Throws `out_of_memory`.
  virtual void* allocate(std::size_t bytes, memory_kind kind) = 0;
  void* allocate(std::size_t bytes) { return allocate(bytes, allocates()); }
  /// Gives back what `allocate(bytes, kind)` gave; no operation on it may be pending.
  virtual void free(void* memory, std::size_t bytes, memory_kind kind) noexcept = 0;
  /// \name Its own memory without the pool, which costs what the system's allocation does: to measure that
  ///@{
  virtual bool allocates_unpooled() const { return false; }
  virtual void* allocate_unpooled(std::size_t bytes) { return allocate(bytes); }
  /// May wait for everything that the device does.
  virtual void free_unpooled(void* memory) noexcept { static_cast<void>(memory); }
  ///@}
  /// What it allocates has guards around from now on (`--imbrex-check-memory`); they outlive it.
  void guard_memory_by(memory_guards& g) { guards_ = &g; }
  /// What was allocated of this kind, by all PEs.
  virtual memory_usage used(memory_kind kind) const = 0;

  /// Copies bytes of this device's memory to the host as they are after `e`, or from the host's to this device's,
  /// blocking: for rare cases only.
  virtual void read_now(void* to, const void* from, std::size_t bytes, const event& e) = 0;
  /// Whether any thread may do that, from the device to the host and without an event.
  virtual bool any_thread_reads() const { return false; }

  /// \name Memory that other processes of the machine read
  ///@{
  /// Whether memory of this device can be given to other processes; `memory` must be from `allocate`. Cheap after the
  /// first time for an allocation's neighbours.
  virtual bool share(const void* memory, shared_memory& as) {
    static_cast<void>(memory), static_cast<void>(as);
    return false;
  }
  /// Where this device reaches what another process shared; kept open. Throws `device_error`.
  virtual const std::byte* open(const shared_memory& m);
  /// The point of another process's stream, for streams of this device to wait for. Throws `device_error`.
  virtual event open(const shared_point& p);
  ///@}

  /// \name Memory that it did not allocate: what `foreign_memory` asks
  ///@{
  /// Finds out what it is, once, and gives the kind it is of to this device; remembered until as many `let_go`. Throws
  /// `usage_error` for memory that this device, or one of the process beside it, would not reach.
  virtual memory_kind adopt(const void* memory, std::size_t bytes) {
    static_cast<void>(memory), static_cast<void>(bytes);
    return memory_kind::host;
  }
  virtual void let_go(const void* memory, std::size_t bytes) noexcept {
    static_cast<void>(memory), static_cast<void>(bytes);
  }
  /// Whether memory of kind `device` was adopted that no network and no other process may be given: what lies there
  /// goes through pinned memory. Costs a load where nothing was adopted.
  virtual bool is_staged(const void* memory) const {
    static_cast<void>(memory);
    return false;
  }
  ///@}

  /// A new stream; the device outlives it. `label` is what reports call it.
  virtual std::unique_ptr<stream> make_stream(stream_priority p, std::string label) = 0;
  /// The operations of recorded rounds, of whatever devices of this kind, as one: to be run by a stream of this device.
  /// `order[i]` says which of the recorded rounds the i-th one is. Null: there is no such thing. Throws `device_error`.
  virtual std::unique_ptr<graph> graph_of_rounds(const recorded_rounds& r, const std::vector<std::size_t>& order);
  /// Whether its kernels and copies reach the other device's memory without the host.
  virtual bool reaches(const device& other) const { return other.kind() == kind(); }

 protected:
  device() = default;
  memory_guards* guards() const { return guards_; }

 private:
  memory_guards* guards_ = nullptr;
};

inline const std::byte* device::open(const shared_memory&) {
  throw device_error(name() + " cannot read the memory of other processes' devices");
}
inline std::unique_ptr<graph> device::graph_of_rounds(const recorded_rounds&, const std::vector<std::size_t>&) {
  return nullptr;
}
inline event device::open(const shared_point&) {
  throw device_error(name() + " cannot wait for the devices of other processes");
}

}  // namespace imbrex
