#include "imbrex/object/moving/buffer_transit.h"

#include <memory>
#include <utility>

#include "imbrex/comm/data/data_mover.h"
#include "imbrex/object/data/device_view.h"
#include "imbrex/object/state/element_state.h"

namespace imbrex {

namespace {

/// The buffers of one element that are being fetched. Lives until the last one is there.
struct arriving_buffers {
  std::vector<buffer<std::byte>> all;
  std::size_t num_left;
  std::function<void(std::vector<buffer<std::byte>>)> complete;
};

void fetch_one(scheduler& pe, const remote_data& what, buffer<std::byte>& to, std::function<void()> there) {
  device& on = *to.on();
  stream& s = pe.mover->aside(on);
  if (pe.mover->reads_in_place(what) && on.allocates() == memory_kind::device) {
    s.copy(to.data(), on.open(what.memory), what.bytes);
    detail::release_after(what, s);
    s.then("a buffer has come", std::move(there));
    return;
  }
  const bool in_order = on.allocates() == memory_kind::device;
  const data_view place{to.data(), what.bytes, on.allocates(), on.number()};
  pe.mover->fetch(what, place, in_order ? &s : nullptr,
                  [&s, there = std::move(there)] { s.then("a buffer has come", there); });
  pe.send(what.pe, detail::pull_data{what.id, pe.rank().rank, pe.id()}, priorities::communication);
}

}  // namespace

void detail::keep_until_idle(chare_base& element, std::vector<buffer<std::byte>> replaced) {
  stream_set* const streams = chare_access::streams(element);
  if (replaced.empty() || streams == nullptr || streams->idle()) return;
  streams->when_idle([held = std::make_shared<std::vector<buffer<std::byte>>>(std::move(replaced))] {});
}

void buffer_transit::leave_process(scheduler& pe) {
  for (buffer<std::byte>& b : buffers_) {
    device& on = detail::handle_here(*b.on());
    elsewhere_.push_back(pe.mover->offer(on, std::move(b)));
  }
  buffers_.clear();
}

void buffer_transit::fetch(scheduler& pe, std::function<void(std::vector<buffer<std::byte>>)> complete) {
  const auto arriving = std::make_shared<arriving_buffers>();
  arriving->num_left = elsewhere_.size();
  arriving->complete = std::move(complete);
  device& here = *pe.default_device;
  for (const remote_data& what : elsewhere_) arriving->all.emplace_back(here, what.bytes);
  for (std::size_t i = 0; i < elsewhere_.size(); ++i) {
    fetch_one(pe, elsewhere_[i], arriving->all[i], [arriving] {
      if (--arriving->num_left == 0) arriving->complete(std::move(arriving->all));
    });
  }
  elsewhere_.clear();
}

}  // namespace imbrex
