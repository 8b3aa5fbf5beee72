#pragma once

#include <atomic>
#include <memory>
#include <string>

#include "imbrex/async/executor.h"
#include "imbrex/device/device.h"
#include "imbrex/device/host/host_memory.h"

namespace imbrex {

/// A point in a stream of a host device. Streams of other PEs may wait for it.
class host_event final : public event_state, public std::enable_shared_from_this<host_event> {
 public:
  /// A stream that is stopped at this event: posted to its PE when it happens.
  struct stopped {
    executor* home;
    work* stream;
    stopped* next;
  };

  ~host_event() override;
  bool complete() const override { return waiting_.load(std::memory_order_acquire) == happened(); }
  /// Once, by the stream it was recorded on.
  void happen();
  /// False, and nothing is kept, when it has happened already.
  bool stop(executor* home, work* stream);

 private:
  static stopped* happened() { return reinterpret_cast<stopped*>(&mark_); }
  inline static char mark_ = 0;
  std::atomic<stopped*> waiting_{nullptr};
};

/// One PE's share of the host as a device: its kernels run on the PE's own thread, from its loop, so that threads never
/// exceed cores. Operations of high-priority streams run when they are enqueued if nothing stands before them; those of
/// low-priority streams run when the PE has nothing more urgent to do, one kernel at a time.
class host_device final : public device {
 public:
  host_device(executor& pe, int number, host_memory& memory) : pe_(pe), number_(number), memory_(memory) {}

  device_kind kind() const override { return device_kind::host; }
  int number() const override { return number_; }
  std::string name() const override { return "host"; }
  memory_info memory() const override;
  memory_kind allocates() const override { return memory_kind::host; }
  void* allocate(std::size_t bytes, memory_kind kind) override;
  void free(void* memory, std::size_t bytes, memory_kind kind) noexcept override;
  bool allocates_unpooled() const override { return true; }
  void* allocate_unpooled(std::size_t bytes) override;
  void free_unpooled(void* memory) noexcept override;
  memory_usage used(memory_kind) const override;
  void read_now(void* to, const void* from, std::size_t bytes, const event& e) override;
  std::unique_ptr<stream> make_stream(stream_priority p, std::string label) override;

  executor& pe() const { return pe_; }

 private:
  executor& pe_;
  const int number_;
  host_memory& memory_;
};

}  // namespace imbrex
