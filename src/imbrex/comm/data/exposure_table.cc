#include "imbrex/comm/data/exposure_table.h"

#include <utility>

#include <fmt/format.h>

#include "imbrex/base/error.h"

namespace imbrex {

std::uint64_t exposure_table::add(entry e) {
  const std::lock_guard lock(mutex_);
  entries_.emplace(++last_, std::move(e));
  return last_;
}

void exposure_table::remove(std::uint64_t number) {
  const std::lock_guard lock(mutex_);
  entries_.erase(number);
}

exposure_table::entry exposure_table::find(std::uint64_t number, std::uint64_t offset, std::uint64_t bytes) const {
  const std::lock_guard lock(mutex_);
  const auto found = entries_.find(number);
  if (found == entries_.end())
    throw usage_error("a put or get of memory that is exposed no more: keep its `exposed` until all are done");
  if (offset > found->second.bytes || bytes > found->second.bytes - offset) {
    throw usage_error(
        fmt::format("a put or get of {} bytes at offset {} of memory of {} bytes", bytes, offset, found->second.bytes));
  }
  return found->second;
}

}  // namespace imbrex
