#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>

#include "imbrex/async/activity.h"
#include "imbrex/base/slab.h"
#include "imbrex/device/event.h"

namespace imbrex {

/// A sender's memory while a receiver may read it, seen from the sender: whether it has been given back, and who waits
/// for that. Touched by the sender's PE only; the receiver posts it there as a piece of work.
struct lent_state : work {
  static lent_state* make() {
    auto* s = new (slab::allocate(sizeof(lent_state))) lent_state;
    s->home = executor::current();
    s->act = &lent_state::come_home;
    s->set_priority(priorities::communication);
    ++s->home->operations;
    return s;
  }
  void release() {
    if (--references > 0) return;
    this->~lent_state();  // its event is one of the driver's
    slab::free(this);
  }

  executor* home = nullptr;
  int references = 2;  // the sender's handle and the lent buffer
  bool returned = false;
  event read;  ///< the point after which a device has read the memory; none if it has been read
  waiter* waiting = nullptr;

 private:
  static void come_home(work* w, work_action action) {
    auto* s = static_cast<lent_state*>(w);
    --s->home->operations;
    s->returned = true;
    if (waiter* who = std::exchange(s->waiting, nullptr); who != nullptr && action == work_action::run) who->resume();
    s->release();
  }
};

/// Bytes that belong to a sender of this process. Whoever holds this may read them; destroying it gives them back.
class lent_buffer {
 public:
  lent_buffer() = default;
  lent_buffer(const std::byte* data, std::uint64_t bytes, lent_state* owner)
      : data_(data), bytes_(bytes), owner_(owner) {}
  lent_buffer(lent_buffer&& other) noexcept
      : data_(other.data_), bytes_(other.bytes_), owner_(std::exchange(other.owner_, nullptr)) {}
  lent_buffer& operator=(lent_buffer&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(bytes_, other.bytes_);
    std::swap(owner_, other.owner_);
    return *this;
  }
  ~lent_buffer() {
    if (owner_ != nullptr) owner_->home->post(owner_);
  }

  /// The memory goes back now, but a device reads it until `e`: what writes to it next must wait for that.
  void give_back_after(event e) {
    lent_state* owner = std::exchange(owner_, nullptr);
    if (owner == nullptr) return;
    owner->read = std::move(e);
    owner->home->post(owner);
  }

  bool holds() const { return owner_ != nullptr; }
  const std::byte* data() const { return data_; }
  std::uint64_t bytes() const { return bytes_; }

 private:
  const std::byte* data_ = nullptr;
  std::uint64_t bytes_ = 0;
  lent_state* owner_ = nullptr;
};

}  // namespace imbrex
