#pragma once

#include <imbrex/imbrex.h>

#include "chares/shared_model.h"
#include "gpu/gpu_around.h"
#include "support/gpu_streams.h"

namespace md {

/// Messages of one kind between a box on a GPU and those around: what was packed goes to each, and what they packed
/// comes. Both sides know how many elements go (`halo::expect`); of none there is no message.
/// `self`: the chare, whose ports from `first_port` on, one for each box around, are this halo's at both ends.
template <class T, class Chare>
imbrex::halo<T> gpu_halo(Chare& self, const decomposition& boxes, const box_index& where, const gpu_around& around,
                         int first_port, apps::halo_path path) {
  imbrex::halo<T> all(imbrex::memory_kind::device, path);
  int port = first_port;
  for (const box_index& b : around.boxes)
    all.connect(self, self.array()[index_of(b)], port++, first_port + gpu_around(boxes, b).place_of(where), 0);
  return all;
}

/// Sends what was packed in the pack stream, and waits until messages have come, or word of them; `unpack(m)` enqueues
/// what reads them into the unpack stream.
template <class T, class Unpack>
imbrex::task<> exchange(imbrex::halo<T>* halo, apps::halo_path path, const apps::gpu_streams* streams, Unpack unpack) {
  const bool by_host = path == apps::halo_path::host;
  imbrex::stream& sending = by_host ? *streams->to_host : *streams->pack;
  imbrex::stream& receiving = by_host ? *streams->to_device : *streams->unpack;
  if (by_host) sending.after(*streams->pack);
  halo->send(sending);
  auto received = halo->receive(receiving);
  co_await received;
  if (by_host) streams->unpack->after(receiving);
  gpu_messages<T> m;
  for (int i = 0; i < halo->size(); ++i) {
    if (const auto in = halo->in(i); in.size > 0) m.add(in.data, static_cast<std::uint32_t>(in.size));
  }
  unpack(m);
  halo->release(*streams->unpack);
}

}  // namespace md
