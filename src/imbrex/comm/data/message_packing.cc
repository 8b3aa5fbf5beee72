#include "imbrex/comm/data/message_packing.h"

#include <memory>
#include <utility>

namespace imbrex {

namespace {

/// A stream that ends itself, from the PE's loop.
struct passing_stream : work {
  std::unique_ptr<stream> s;

  explicit passing_stream(device& d) : s(d.make_stream(stream_priority::high, "what follows a chare")) {
    act = [](work* w, work_action) { delete static_cast<passing_stream*>(w); };
    set_priority(priorities::communication);
    s->follows_nobody();
  }
  void end() { executor::current()->post(this); }
};

/// Copies by `read` what is in a device's memory to the message, through pinned memory; then `give_back` says that it
/// has been read.
template <class Read, class GiveBack>
void pack_from_device(const std::shared_ptr<channel_message>& m, std::uint64_t bytes, device& here, Read read,
                      GiveBack give_back, std::function<void(channel_message&&)> go_on) {
  buffer<std::byte> staged(here, bytes, memory_kind::pinned);
  auto* const by = new passing_stream(here);
  read(*by->s, staged.data());
  by->s->then("packed", [m, by, give_back, at = std::move(staged), then = std::move(go_on)] {
    m->copied.assign(at.data(), at.data() + at.size());
    give_back();
    by->end();
    then(std::move(*m));
  });
}

}  // namespace

void pack(channel_message&& m, data_mover& by, device& here, std::function<void(channel_message&&)> go_on) {
  auto packed = std::make_shared<channel_message>(std::move(m));
  if (packed->lent.on != nullptr) {
    const auto read = [&](stream& s, std::byte* to) {
      s.wait(packed->lent.ready);
      s.copy(to, packed->data(), packed->bytes());
      if (packed->lent.checked != nullptr) race_check::will_be_read(packed->lent.checked, s);
    };
    const auto give_back = [m = packed.get()] { m->lent = lent_bytes(); };
    return pack_from_device(packed, packed->bytes(), here, read, give_back, std::move(go_on));
  }
  const remote_data what = *std::exchange(packed->remote, {});
  if (what.by == remote_data::path::shared) {
    const auto read = [&](stream& s, std::byte* to) { data_mover::copy_shared(what, s, to); };
    const auto give_back = [teller = &by, what] { teller->has_been_read(what); };
    return pack_from_device(packed, what.bytes, here, read, give_back, std::move(go_on));
  }
  packed->copied.resize(what.bytes);
  const data_view to{packed->copied.data(), what.bytes, memory_kind::host, -1};
  by.fetch(what, to, nullptr, [packed, then = std::move(go_on)] { then(std::move(*packed)); });
}

void copy_lent(channel_message& m) {
  m.copied.assign(m.data(), m.data() + m.bytes());
  if (m.lent.checked != nullptr) m.lent.checked->was_read();
  m.lent = lent_bytes();
}

}  // namespace imbrex
