#include "imbrex/comm/data/channel_end.h"

#include <algorithm>
#include <cstring>

#include <fmt/format.h>

#include "imbrex/base/error.h"
#include "imbrex/device/buffer.h"

namespace imbrex {

void channel_end::arrived(channel_message&& m) {
  if (m.sequence != next_expected_) {
    const std::uint64_t sequence = m.sequence;
    early_.emplace(sequence, parked_message(std::move(m)));
    return;
  }
  ready_.emplace_back(std::move(m));
  ++next_expected_;
  for (auto at = early_.begin(); at != early_.end() && at->first == next_expected_; at = early_.erase(at)) {
    ready_.push_back(std::move(at->second));
    ++next_expected_;
  }
  // Whoever is resumed may end, and this end of the channel with it.
  struct watch {
    explicit watch(channel_end& e) : end(e) { end.gone_ = &gone; }
    ~watch() {
      if (!gone) end.gone_ = nullptr;
    }
    channel_end& end;
    bool gone = false;
  } over(*this);
  while (!over.gone && first_waiting_ != nullptr && !ready_.empty()) {
    channel_receive* r = first_waiting_;
    forget(r);
    channel_message first = ready_.front().take();
    ready_.pop_front();
    bool is_complete = false;
    try {
      is_complete = accept(*r, std::move(first));
    } catch (const error&) {
      r->refuse(std::current_exception());
    }
    if (is_complete) r->resume();
  }
}

receive_state channel_end::try_receive(channel_receive& r) {
  if (closed_) throw usage_error(name_ + " has been closed: nothing can be received on it");
  if (ready_.empty() || first_waiting_ != nullptr) return receive_state::nothing_there;
  channel_message first = ready_.front().take();
  ready_.pop_front();
  return accept(r, std::move(first)) ? receive_state::complete : receive_state::under_way;
}

void channel_end::check_fits(const channel_receive& r, const channel_message& m) const {
  if (m.element_type != element_type_) {
    throw usage_error(fmt::format("{}: the two ends are of different element types ({} and {} bytes each)", name_,
                                  m.element_bytes, element_bytes_));
  }
  if (r.keep == nullptr && m.bytes() > r.capacity) {
    throw usage_error(fmt::format("{}: a message of {} {} came for a receive of {}", name_, m.bytes() / element_bytes_,
                                  element_bytes_ == 1 ? "bytes" : "elements", r.capacity / element_bytes_));
  }
}

/// True when `r` is complete, false when it will be resumed. What does not fit is given back to its sender.
bool channel_end::accept(channel_receive& r, channel_message&& m) {
  try {
    check_fits(r, m);
  } catch (...) {
    if (m.remote) mover_->drop(*m.remote);
    throw;
  }
  r.received = m.bytes();
  if (r.keep != nullptr) return keep(r, std::move(m));
  if (m.remote) return take_from_process(r, std::move(m));
  return take_copy(r, std::move(m));
}

bool channel_end::take_copy(channel_receive& r, channel_message&& m) {
  stream& s = *r.in_order_of;
  if (m.lent.on != nullptr) {
    const bool pulled = s.on().reaches(*m.lent.on) && s.on().number() != m.lent.on->number();
    if (pulled) {
      s.pull(m.lent.ready, r.to, m.data(), m.bytes());
    } else {
      s.wait(m.lent.ready);
      s.copy(r.to, m.data(), m.bytes());
    }
    m.give_back(&s, pulled);
  } else if (r.kind == memory_kind::device) {
    // From another rank: by way of memory that the device can read in stream order.
    buffer<std::byte> staged(s.on(), m.bytes(), memory_kind::pinned);
    if (m.bytes() > 0) std::memcpy(staged.data(), m.data(), m.bytes());
    s.copy(r.to, staged.data(), m.bytes());
    s.then("received", [held = std::move(staged)] {});
  } else {
    auto copy = [to = r.to, message = std::move(m)]() mutable {
      if (message.bytes() > 0) std::memcpy(to, message.data(), message.bytes());
      message.give_back(nullptr);
    };
    if (s.on().kind() == device_kind::host) {
      s.then("receive", std::move(copy));
    } else {
      s.call("receive", std::move(copy));  // on a GPU nothing else makes what follows wait for it
    }
  }
  return true;
}

bool channel_end::take_from_process(channel_receive& r, channel_message&& m) {
  stream& s = *r.in_order_of;
  if (m.remote.by() == remote_data::path::shared) {
    data_mover::copy_shared(*m.remote, s, r.to);
    s.then("read", [by = mover_, what = *m.remote] { by->has_been_read(what); });
    return true;
  }
  const data_view to{static_cast<std::byte*>(r.to), m.remote->bytes, r.kind, s.on().number()};
  r.under_way = mover_->fetch(*m.remote, to, &s, [&r] {
    r.under_way = nullptr;
    r.resume();
  });
  return false;
}

bool channel_end::keep(channel_receive& r, channel_message&& m) {
  stream* const s = r.kind == memory_kind::device ? r.in_order_of : nullptr;  // null: host memory
  const bool is_copied_from =
      s == nullptr && r.in_order_of != nullptr && r.in_order_of->on().allocates() == memory_kind::device;
  if (m.lent.on != nullptr) {
    if (s == nullptr) {
      throw usage_error(
          fmt::format("{}: memory of {} {} came to an end that is made for host memory: receive it by recv", name_,
                      to_string(m.lent.on->kind()), m.lent.on->number()));
    }
    const bool reached = s->on().reaches(*m.lent.on);
    if (!reached && s->on().kind() != m.lent.on->kind()) {
      throw usage_error(fmt::format("{}: {} {} cannot read the memory of {} {} where it is: receive it by recv", name_,
                                    to_string(s->on().kind()), s->on().number(), to_string(m.lent.on->kind()),
                                    m.lent.on->number()));
    }
    s->wait(m.lent.ready);
    if (!reached) {  // devices of OpenCL
      m.own = buffer<std::byte>(s->on(), m.bytes());
      s->copy(m.own.data(), m.lent.data(), m.bytes());
    }
  } else if (m.remote.by() == remote_data::path::shared) {
    m.in_place.map(data_mover::open(*m.remote, *s), mover_);
  } else if (m.remote) {
    data_view to{nullptr, m.remote->bytes, s != nullptr ? memory_kind::device : memory_kind::host,
                 s != nullptr ? s->on().number() : -1};
    auto coming = std::make_shared<channel_message>(std::move(m));  // stays where it is until its data have come
    if (s != nullptr || is_copied_from) {
      if (s == nullptr) to.kind = memory_kind::pinned;
      coming->own = buffer<std::byte>(r.in_order_of->on(), to.bytes, to.kind);
      to.data = coming->own.data();
    } else {
      coming->copied.resize(to.bytes);
      to.data = coming->copied.data();
    }
    r.under_way = mover_->fetch(*coming->remote, to, s, [&r, coming] {
      r.under_way = nullptr;
      *r.keep = std::move(*coming);
      r.resume();
    });
    return false;
  } else if (s != nullptr) {  // what came along goes to the device's memory first
    buffer<std::byte> own(s->on(), m.bytes());
    buffer<std::byte> staged(s->on(), m.bytes(), memory_kind::pinned);
    if (m.bytes() > 0) std::memcpy(staged.data(), m.data(), m.bytes());
    m.copied.resize(m.bytes());
    m.lent = lent_buffer();
    m.own = std::move(own);
    s->copy(m.own.data(), staged.data(), staged.size());
    s->then("received", [held = std::move(staged)] {});
  } else if (is_copied_from && !m.lent.holds() && m.bytes() > 0) {
    m.own = buffer<std::byte>(r.in_order_of->on(), m.bytes(), memory_kind::pinned);
    std::memcpy(m.own.data(), m.copied.data(), m.bytes());
  }
  *r.keep = std::move(m);
  return true;
}

void channel_end::drop(parked_message&& parked, bool is_ending) {
  const channel_message m = parked.take();
  if (m.remote && !is_ending) mover_->drop(*m.remote);
}

void channel_end::close(bool is_ending) {
  closed_ = true;
  for (parked_message& m : std::exchange(ready_, {})) drop(std::move(m), is_ending);
  for (auto& early : std::exchange(early_, {})) drop(std::move(early.second), is_ending);
  while (first_waiting_ != nullptr) {
    channel_receive* const r = first_waiting_;
    forget(r);
    r->refuse(
        std::make_exception_ptr(usage_error(name_ + " was closed while a receive waited: close it when nobody does")));
  }
}

const wait_mobility channel_receive::moves_with_its_end{[](const waiter& w) {
                                                          const auto& self = static_cast<const channel_receive&>(w);
                                                          return self.phase_ == phase::waiting &&
                                                                 self.under_way == nullptr;
                                                        },
                                                        [](waiter&, departure&) {}, [](waiter&) {}};

std::string channel_receive::what_is_awaited(const waiter* w) {
  const channel_end& end = *static_cast<const channel_receive*>(w)->end_of_wait_;
  return "a message on " + end.name() + end.from_where();
}

void channel_receive::refuse(std::exception_ptr why) {
  phase_ = phase::refused;
  why_refused_ = std::move(why);
  wake();
}

void channel_receive::finish() {
  const phase before = std::exchange(phase_, phase::apart);
  if (before == phase::refused) std::rethrow_exception(why_refused_);
}

void channel_end::wait(channel_receive* r) {
  r->next_receive = nullptr;
  (last_waiting_ != nullptr ? last_waiting_->next_receive : first_waiting_) = r;
  last_waiting_ = r;
}

void channel_end::forget(channel_receive* r) {
  channel_receive* before = nullptr;
  for (channel_receive* w = first_waiting_; w != nullptr; before = w, w = w->next_receive) {
    if (w != r) continue;
    (before != nullptr ? before->next_receive : first_waiting_) = w->next_receive;
    if (last_waiting_ == w) last_waiting_ = before;
    w->phase_ = channel_receive::phase::apart;
    return;
  }
}

}  // namespace imbrex
