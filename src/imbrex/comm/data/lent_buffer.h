#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>

#include "imbrex/async/activity.h"
#include "imbrex/async/actor.h"
#include "imbrex/base/memory/slab.h"
#include "imbrex/device/event.h"

namespace imbrex {

/// A sender's memory while a receiver may read it, seen from the sender: whether it has been given back, and who waits
/// for that. Touched by the sender's PE only; the receiver posts it, as a piece of work, to the PE that lent it, from
/// where it goes on to the sender if that has moved.
struct lent_state : work, actor_follower {
  static lent_state* make() { return make(executor::current()->ties_of_acting()); }
  /// `lender`: of the actor whose memory it is; null: nobody's who could move.
  static lent_state* make(actor_ties* lender) {
    auto* s = new (slab::allocate(sizeof(lent_state))) lent_state;
    s->home = executor::current();
    s->act = &lent_state::come_home;
    s->leave = &lent_state::lender_leaves;
    s->is_idle = &lent_state::has_been_read;
    s->set_priority(priorities::communication);
    ++s->home->operations;
    if (lender != nullptr) s->link(*lender);
    return s;
  }
  void release() {
    if (--references > 0) return;
    is_linked() && read.state() != nullptr ? linger() : end();
  }
  /// What the lender enqueues from now on comes after the reading, as the stream does that waits for `read`.
  void is_awaited_by_stream() { unlink(); }

  executor* home = nullptr;
  int references = 2;  // the sender's handle and the lent buffer
  bool returned = false;
  bool is_copy = false;  ///< the runtime's: it comes back when it has been read, not before
  event read;            ///< the point after which a device has read the memory; none if it has been read
  waiter* waiting = nullptr;

 private:
  static bool has_been_read(const actor_follower& f) {
    const auto& s = static_cast<const lent_state&>(f);
    return s.returned && s.read.complete();
  }
  void end() {
    this->~lent_state();  // its event is one of the driver's
    slab::free(this);
  }
  // Nobody waits for it, but the lender must not take its memory away while a device reads it. To ask for that costs as
  // much as a message or more: it is done when the lender is to move, and of what one stream reads for the last only.
  void linger() {
    over = [](actor_follower& f) { static_cast<lent_state&>(f).end(); };
    const stream_position p = read.state()->position;
    lingers(p.stream, p.at);
  }
  // Only the first PE's: what comes home there meanwhile comes in the order of its thread.
  static void lender_leaves(actor_follower& f, departure& d) {
    auto& s = static_cast<lent_state&>(f);
    if (!s.returned && s.route_ == nullptr) s.route_ = d.route();
  }
  static void come_home(work* w, work_action action) {
    auto* s = static_cast<lent_state*>(w);
    --s->home->operations;
    if (s->route_ == nullptr || action == work_action::discard) return give_back(w, action);
    s->act = &lent_state::give_back;
    const std::shared_ptr<const work_route> to = s->route_;  // `s` may be gone before the call ends
    to->carry(s, false);
  }
  static void give_back(work* w, work_action action) {
    auto* s = static_cast<lent_state*>(w);
    if (s->read.state() == nullptr) s->unlink();
    s->returned = true;
    if (waiter* who = std::exchange(s->waiting, nullptr); who != nullptr && action == work_action::run) who->resume();
    s->release();
  }

  std::shared_ptr<const work_route> route_;
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
  /// Whether it must not go back before devices have read it.
  bool is_copy() const { return owner_ != nullptr && owner_->is_copy; }
  const std::byte* data() const { return data_; }
  std::uint64_t bytes() const { return bytes_; }

 private:
  const std::byte* data_ = nullptr;
  std::uint64_t bytes_ = 0;
  lent_state* owner_ = nullptr;
};

}  // namespace imbrex
