#include "imbrex/hetero/coherence/incoming_link.h"

#include <algorithm>
#include <new>

#include "imbrex/async/pe_clock.h"
#include "imbrex/base/memory/slab.h"

namespace imbrex {

namespace {
constexpr double part_of_news = 0.25;  // in what is known
}  // namespace

struct incoming_link::arrival : lane_wait {
  incoming_link* of = nullptr;
  std::uint64_t bytes = 0;
  std::int64_t given_ns = 0;
};

void incoming_link::given(const lane_point& end, std::uint64_t bytes) {
  if (!is_large(bytes) || end.reached()) return;
  auto* const a = new (slab::allocate(sizeof(arrival))) arrival;
  a->of = this;
  a->bytes = bytes;
  a->given_ns = clock::now().time_since_epoch().count();
  a->reached = [](lane_wait* w) {
    auto* const self = static_cast<arrival*>(w);
    if (!self->is_abandoned()) self->of->come(self->bytes, self->given_ns);
    slab::free(self);
  };
  under_way_ += bytes;
  end.of->when_reached(end.number, a);
  end.of->flush();
}

/// The link was free for it since the one before had come.
void incoming_link::come(std::uint64_t bytes, std::int64_t given_ns) {
  under_way_ -= bytes;
  const std::int64_t now = clock::now().time_since_epoch().count(), took = now - std::max(given_ns, last_came_ns_);
  last_came_ns_ = now;
  if (took > 0)
    bytes_per_ns_ += part_of_news * (static_cast<double>(bytes) / static_cast<double>(took) - bytes_per_ns_);
}

}  // namespace imbrex
