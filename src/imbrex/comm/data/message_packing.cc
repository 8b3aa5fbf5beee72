#include "imbrex/comm/data/message_packing.h"

#include <memory>
#include <utility>

namespace imbrex {

void pack_remote(channel_message&& m, data_mover& by, device& here, std::function<void(channel_message&&)> go_on) {
  auto packed = std::make_shared<channel_message>(std::move(m));
  const remote_data what = *std::exchange(packed->remote, {});
  packed->copied.resize(what.bytes);
  if (what.by == remote_data::path::shared) {
    here.read_now(packed->copied.data(), here.open(what.memory), what.bytes, here.open(what.ready));
    by.has_been_read(what);
    return go_on(std::move(*packed));
  }
  const data_view to{packed->copied.data(), what.bytes, memory_kind::host, -1};
  by.fetch(what, to, nullptr, [packed, then = std::move(go_on)] { then(std::move(*packed)); });
}

}  // namespace imbrex
