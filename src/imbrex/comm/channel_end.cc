#include "imbrex/comm/channel_end.h"

#include <cstring>

#include <fmt/format.h>

#include "imbrex/base/error.h"
#include "imbrex/memory/buffer.h"

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
    accept(*r, std::move(first));
    r->resume();
  }
}

bool channel_end::try_receive(channel_receive& r) {
  if (ready_.empty() || first_waiting_ != nullptr) return false;
  channel_message first = ready_.front().take();
  ready_.pop_front();
  accept(r, std::move(first));
  return true;
}

void channel_end::accept(channel_receive& r, channel_message&& m) {
  if (m.element_type != element_type_) {
    throw usage_error(fmt::format("{}: the two ends are of different element types ({} and {} bytes each)", name_,
                                  m.element_bytes, element_bytes_));
  }
  if (r.keep != nullptr) {
    keep(r, std::move(m));
    return;
  }
  if (m.bytes() > r.capacity) {
    throw usage_error(fmt::format("{}: a message of {} elements came for a receive of {}", name_,
                                  m.bytes() / element_bytes_, r.capacity / element_bytes_));
  }
  r.received = m.bytes();
  stream& s = *r.in_order_of;
  if (m.on != nullptr) {
    s.wait(m.ready);
    s.copy(r.to, m.data(), m.bytes());
    m.give_back(&s);
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
      s.launch("receive", std::move(copy));  // on a GPU nothing else makes what follows wait for it
    }
  }
}

void channel_end::keep(channel_receive& r, channel_message&& m) {
  if (m.on != nullptr) {
    if (!r.in_order_of->on().reaches(*m.on)) {
      throw usage_error(fmt::format("{}: {} {} cannot read the memory of {} {} where it is: receive it by recv", name_,
                                    to_string(r.in_order_of->on().kind()), r.in_order_of->on().number(),
                                    to_string(m.on->kind()), m.on->number()));
    }
    r.in_order_of->wait(m.ready);
  } else if (r.kind == memory_kind::device) {
    throw usage_error(fmt::format("{}: a message from another process cannot be borrowed: receive it by recv", name_));
  }
  r.received = m.bytes();
  *r.keep = std::move(m);
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
    return;
  }
}

}  // namespace imbrex
