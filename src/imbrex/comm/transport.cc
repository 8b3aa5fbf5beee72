#include "imbrex/comm/transport.h"

#include "imbrex/base/error.h"

namespace imbrex {

namespace {
[[noreturn]] void refuse(const transport& t) {
  throw not_built("the transport " + t.name() + " has no one-sided movement of its own: ask has_one_sided() first");
}
}  // namespace

std::vector<std::byte> transport::share_memory(const data_view&) { refuse(*this); }
void transport::put(rank_id, const std::vector<std::byte>&, std::uint64_t, const data_view&, transfer*) {
  refuse(*this);
}
void transport::get(rank_id, const std::vector<std::byte>&, std::uint64_t, const data_view&, transfer*) {
  refuse(*this);
}

}  // namespace imbrex
