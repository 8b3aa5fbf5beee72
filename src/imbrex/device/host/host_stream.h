#pragma once

#include <memory>
#include <string>

#include "imbrex/device/host/host_device.h"

namespace imbrex {

/// A stream of a host device: a list of operations, and a place in the PE's ready queue while it has something to run.
/// Destroying it drops what has not run.
class host_stream final : public stream {
 public:
  host_stream(host_device& d, executor& pe, stream_priority p, std::string label);
  ~host_stream() override;

  device& on() const override { return *device_; }
  stream_priority urgency() const override { return priority_; }
  void copy(void* to, const void* from, std::size_t bytes) override;
  void copy_rows(void* to, std::size_t to_pitch, const void* from, std::size_t from_pitch, std::size_t bytes,
                 std::size_t num_rows) override;
  void fill(void* to, unsigned char value, std::size_t bytes) override;
  event record() override;
  void wait(const event& e) override;
  void arrive(device& here) override;
  bool idle() const override { return first_ == nullptr && phase_ != phase::running; }
  bool may_still_write() const override;

 protected:
  void enqueue(stream_operation* op) override;

 private:
  enum class phase {
    empty,    // nothing to do
    queued,   // in the ready queue
    running,  // an operation runs right now
    stopped,  // at an event of another stream, which will post it
  };

  /// What stands in the ready queue; outlives the stream when that is destroyed while queued or stopped.
  struct turn : work {
    host_stream* owner = nullptr;
  };

  static void take_turn(work* w, work_action action);
  void advance();
  void perform(stream_operation* op);
  void queue();

  host_device* device_;
  executor* pe_;
  const actor* owner_;  // who made it, or took it to this PE: its operations are that one's code
  const stream_priority priority_;
  phase phase_ = phase::empty;
  stream_operation* first_ = nullptr;
  stream_operation* last_ = nullptr;
  turn* turn_;
};

}  // namespace imbrex
