#pragma once

#include <cstring>
#include <deque>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "imbrex/device/device.h"
#include "imbrex/device/host/host_memory.h"

namespace imbrex_test {

/// A point in a stepped stream.
struct stepped_event final : imbrex::event_state {
  bool happened = false;
  bool complete() const override { return happened; }
};

/// A stream that does nothing by itself: each of its kernels, copies and notices to the host happens when the test says
/// so (`step`). Events happen as soon as what is before them has.
class stepped_stream final : public imbrex::stream {
 public:
  stepped_stream(imbrex::device& d, std::vector<stepped_stream*>& all, imbrex::stream_priority p, std::string label)
      : stream(std::move(label)), device_(d), all_(all), priority_(p) {
    all_.push_back(this);
  }
  ~stepped_stream() override {
    std::erase(all_, this);
    for (entry& e : queue_) {
      if (e.what == kind::operation) e.operation->act(e.operation, imbrex::work_action::discard);
    }
  }

  imbrex::device& on() const override { return device_; }
  imbrex::stream_priority urgency() const override { return priority_; }
  void copy(void* to, const void* from, std::size_t bytes) override {
    call("copy", [=] { std::memcpy(to, from, bytes); });
  }
  void fill(void* to, unsigned char value, std::size_t bytes) override {
    call("fill", [=] { std::memset(to, value, bytes); });
  }
  imbrex::event record() override {
    if (idle()) return {};
    auto point = std::make_shared<stepped_event>();
    queue_.push_back({kind::record, nullptr, point, {}});
    return imbrex::event(std::move(point));
  }
  void wait(const imbrex::event& e) override {
    if (!e.complete()) queue_.push_back({kind::wait, nullptr, nullptr, e});
  }
  bool idle() const override { return queue_.empty(); }
  void arrive(imbrex::device&) override {}  // no chare has any

  /// Passes events; true when there were some.
  bool pass_events() {
    bool any = false;
    while (!queue_.empty()) {
      const entry& e = queue_.front();
      if (e.what == kind::operation || (e.what == kind::wait && !e.awaited.complete())) break;
      if (e.what == kind::record) e.point->happened = true;
      queue_.pop_front();
      any = true;
    }
    return any;
  }
  /// Whether its next operation could happen, once events have been passed.
  bool can_step() const { return !queue_.empty() && queue_.front().what == kind::operation; }
  /// False when only the host has learnt of something.
  bool step() {
    imbrex::stream_operation* const o = queue_.front().operation;
    const bool works = o->is_kernel;
    queue_.pop_front();
    ++num_steps_;
    o->act(o, imbrex::work_action::run);
    return works;
  }
  std::uint64_t num_steps() const { return num_steps_; }

 protected:
  void enqueue(imbrex::stream_operation* o) override { queue_.push_back({kind::operation, o, nullptr, {}}); }

 private:
  enum class kind { operation, record, wait };
  struct entry {
    kind what;
    imbrex::stream_operation* operation;
    std::shared_ptr<stepped_event> point;
    imbrex::event awaited;
  };

  imbrex::device& device_;
  std::vector<stepped_stream*>& all_;
  const imbrex::stream_priority priority_;
  std::deque<entry> queue_;
  std::uint64_t num_steps_ = 0;
};

/// A device of such streams, which stand in `streams` while they live. Its memory is overwritten when it is given and
/// when it is taken back.
class stepped_device final : public imbrex::device {
 public:
  stepped_device(int number, imbrex::host_memory& memory, std::vector<stepped_stream*>& streams)
      : number_(number), memory_(memory), streams_(streams) {}

  imbrex::device_kind kind() const override { return imbrex::device_kind::host; }
  int number() const override { return number_; }
  std::string name() const override { return "stepped"; }
  imbrex::memory_info memory() const override { return {1 << 20, 1 << 20}; }
  imbrex::memory_kind allocates() const override { return imbrex::memory_kind::host; }
  void* allocate(std::size_t bytes, imbrex::memory_kind) override {
    void* const m = memory_.allocate(bytes);
    std::memset(m, 0xab, bytes);
    given_.emplace_back(static_cast<std::byte*>(m), bytes);
    return m;
  }
  void free(void* m, std::size_t bytes, imbrex::memory_kind) noexcept override {
    std::memset(m, 0xcd, bytes);
    std::erase_if(given_, [m](const auto& g) { return g.data() == m; });
    memory_.free(m, bytes);
  }
  imbrex::memory_usage used(imbrex::memory_kind) const override { return {memory_.used().in_use}; }
  void read_now(void* to, const void* from, std::size_t bytes, const imbrex::event&) override {
    std::memcpy(to, from, bytes);
  }
  std::unique_ptr<imbrex::stream> make_stream(imbrex::stream_priority p, std::string label) override {
    return std::make_unique<stepped_stream>(*this, streams_, p, std::move(label));
  }
  /// Calls `f` with all memory that it has given, in the order of that.
  template <class F>
  void for_each_memory(F f) const {
    for (const auto& g : given_) f(std::span<const std::byte>(g));
  }

 private:
  const int number_;
  imbrex::host_memory& memory_;
  std::vector<std::span<std::byte>> given_;
  std::vector<stepped_stream*>& streams_;
};

}  // namespace imbrex_test
