#include "imbrex/object/collection/element_traffic.h"

#include <algorithm>

#include "imbrex/object/collection/collection.h"
#include "imbrex/object/data/port_table.h"

namespace imbrex {

std::uint64_t identity_of(const element_base& e) { return element_identity(e.part->id(), e.part->index_bytes(e)); }

std::vector<element_exchange> element_traffic::take(std::size_t enough) {
  std::vector<element_exchange> result;
  result.reserve(all_.size());
  for (const auto& [who, bytes] : all_) result.push_back({who.first, who.second, bytes});
  all_.clear();
  stride_ = std::max<std::uint64_t>(1, num_sent_ / std::max<std::size_t>(enough, 1));
  passed_over_ = 1 + random_.below(stride_);
  num_sent_ = 0;
  return result;
}

void element_traffic::add_message(std::uint64_t from, std::uint64_t to, std::size_t bytes) {
  all_[{from, to}] += static_cast<double>(bytes) * static_cast<double>(stride_);
}

void element_traffic::add_channels(const element_base& e) {
  if (!e.extras || !e.extras->ports) return;
  const std::uint64_t from = identity_of(e);
  e.extras->ports->for_each_end([&](port_end& end) {
    if (const std::uint64_t bytes = end.take_bytes_sent(); bytes > 0)
      all_[{from, end.peer_identity}] += static_cast<double>(bytes);
  });
}

std::uint64_t detail::identity_of_acting(const scheduler& pe) {
  return identity_of(static_cast<const element_base&>(*pe.acting()));
}

}  // namespace imbrex
