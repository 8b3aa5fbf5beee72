#include "imbrex/object/data/device_view.h"

#include <algorithm>
#include <cstring>

#include <fmt/format.h>

#include "imbrex/base/error.h"

namespace imbrex::detail {

void prepare_departure(channel_message& m, stream& s) {
  s.wait(m.lent.ready);
  const device& on = s.on();
  const bool packed = scheduler::current().mover->travels_packed(on.allocates(), m.bytes());
  if (!packed) return;
  auto staged = std::make_shared<buffer<std::byte>>(s.on(), m.bytes(), memory_kind::pinned);
  s.copy(staged->data(), m.data(), m.bytes());
  m.staged = std::move(staged);
}

void offer_data(channel_message& m, stream& s) {
  m.lent.on = nullptr;
  if (m.staged == nullptr) {
    m.remote = scheduler::current().mover->offer(s, std::move(m.lent));
    return;
  }
  m.copied.assign(m.staged->data(), m.staged->data() + m.staged->size());
  m.staged.reset();
  m.lent = lent_buffer();  // gives the sender's memory back
}

namespace {

/// Memory of the runtime's, for data whose receiver names none.
std::byte* own_memory(channel_message& m, stream& s) {
  m.own = buffer<std::byte>(s.on(), m.bytes());
  return m.own.data();
}

void receive_local(channel_message& m, stream& s, std::byte* place, std::function<void(const std::byte*)>& arrived) {
  if (place == nullptr && !s.on().reaches(*m.lent.on)) place = own_memory(m, s);
  if (place != nullptr && s.on().reaches(*m.lent.on)) {
    s.pull(m.lent.ready, place, m.lent.data(), m.bytes());
    return arrived(place);
  }
  s.wait(m.lent.ready);
  if (place == nullptr) return arrived(m.lent.data());
  s.copy(place, m.lent.data(), m.bytes());
  arrived(place);
}

void receive_packed(channel_message& m, stream& s, std::byte* place, std::function<void(const std::byte*)>& arrived) {
  if (place == nullptr) place = own_memory(m, s);
  buffer<std::byte> staged(s.on(), m.copied.size(), memory_kind::pinned);
  std::ranges::copy(m.copied, staged.data());
  s.copy(place, staged.data(), staged.size());
  s.then("received", [held = std::move(staged)] {});
  arrived(place);
}

void read_in_place(channel_message& m, stream& s, std::byte* place, std::function<void(const std::byte*)>& arrived) {
  const std::byte* const there = s.on().open(m.remote->memory);
  m.in_place.offer(there);  // given back when the view ends
  if (place == nullptr) return arrived(there);
  s.pull(event(), place, there, m.bytes());
  arrived(place);
}

void pull(channel_message& m, stream& s, std::byte* place, std::function<void(const std::byte*)> arrived) {
  scheduler& pe = scheduler::current();
  stream* const in_order_of = place != nullptr || s.on().allocates() == memory_kind::device ? &s : nullptr;
  if (place == nullptr) place = own_memory(m, s);
  const data_view to{place, m.bytes(), s.on().allocates(), s.on().number()};
  pe.mover->fetch(*m.remote, to, in_order_of, [done = std::move(arrived), place] { done(place); });
  pe.send(m.remote->pe, pull_data{m.remote->id, pe.rank().rank, pe.id()}, priorities::communication);
}

}  // namespace

void receive_data(channel_message& m, stream& s, std::byte* place, std::function<void(const std::byte*)> arrived) {
  if (m.lent.on != nullptr) return receive_local(m, s, place, arrived);
  if (!m.remote) return receive_packed(m, s, place, arrived);
  if (scheduler::current().mover->reads_in_place(*m.remote)) return read_in_place(m, s, place, arrived);
  pull(m, s, place, std::move(arrived));
}

void release_after(const remote_data& what, stream& s) {
  s.then("read",
         [pe = what.pe, id = what.id] { scheduler::current().send(pe, release_data{id}, priorities::communication); });
}

void release_unread(const remote_data& what) noexcept {
  scheduler& pe = scheduler::current();
  try {
    pe.send(what.pe, release_data{what.id}, priorities::communication);
  } catch (...) {
    pe.fail_body("a GPU message", std::current_exception());
  }
}

}  // namespace imbrex::detail
