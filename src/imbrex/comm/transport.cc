#include "imbrex/comm/transport.h"

#include <exception>
#include <utility>

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

void transport::collect(std::vector<std::byte> mine, const std::function<void(std::vector<std::byte>)>& take) {
  collected all(take);
  for (std::vector<std::byte>& bytes : all_gather(mine)) {
    if (rank() == 0) all.add(std::move(bytes));
  }
  all.finish();
}

void transport::collected::add(std::vector<std::byte> bytes) {
  if (failure_) return;
  try {
    take_(std::move(bytes));
  } catch (...) {
    failure_ = std::current_exception();
  }
}

void transport::collected::finish() const {
  if (failure_) std::rethrow_exception(failure_);
}

}  // namespace imbrex
