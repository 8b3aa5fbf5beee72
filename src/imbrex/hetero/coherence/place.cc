#include "imbrex/hetero/coherence/place.h"

#include <algorithm>

#include <fmt/format.h>

#include "imbrex/base/error.h"
#include "imbrex/base/topology.h"

namespace imbrex {

place::place(device& memory_of, const hetero_options& options)
    : number_(0), device_(&memory_of), capacity_(UINT64_MAX), pooled_(true) {
  if (options.disk.empty()) return;
  disk_ = std::make_unique<file_memory>(options.disk);
  before_disk_ = options.host_bytes > 0
                     ? options.host_bytes
                     : available_host_memory() / 2 / static_cast<unsigned>(std::max(options.sharing, 1));
}

place::place(int number, device& d, std::uint64_t capacity, const hetero_options& options, bool has_peers,
             int first_lane)
    : number_(number), device_(&d), capacity_(capacity), pooled_(options.pooled_memory || !d.allocates_unpooled()) {
  const auto make = [&](stream_priority p, const char* what, bool carries_data) {
    return std::make_unique<lane>(d.make_stream(p, fmt::format("the {} lane of {}", what, name())), first_lane++,
                                  carries_data);
  };
  if (options.transfer_lanes) {
    in_ = make(stream_priority::high, "incoming", true);
    out_ = make(stream_priority::high, "outgoing", true);
    if (has_peers) from_peers_ = make(stream_priority::high, "peers'", true);
  }
  for (int i = 0; i < options.compute_lanes; ++i) compute_.push_back(make(stream_priority::low, "compute", false));
}

std::string place::name() const {
  return is_host() ? "the host"
                   : fmt::format("{} {} ({})", to_string(device_->kind()), device_->number(), device_->name());
}

lane& place::next_compute() {
  std::size_t best = turn_;
  for (std::size_t i = 1; i < compute_.size() && !compute_[best]->idle(); ++i) {
    const std::size_t other = (turn_ + i) % compute_.size();
    if (compute_[other]->num_under_way() < compute_[best]->num_under_way()) best = other;
  }
  turn_ = (best + 1) % compute_.size();
  return *compute_[best];
}

void place::flush() {
  for_each_lane([](lane& l) { l.flush(); });
}

bool place::idle() const {
  if (is_host()) return true;
  for (const auto& l : compute_) {
    if (!l->idle()) return false;
  }
  return (in_ == nullptr || (in_->idle() && out_->idle())) && (from_peers_ == nullptr || from_peers_->idle());
}

std::byte* place::allocate(std::uint64_t bytes) {
  if (used_ + bytes > capacity_) return nullptr;
  if (disk_ != nullptr && bytes >= file_memory::least_bytes && used_ + bytes > before_disk_) [[unlikely]]
    return disk_->allocate(bytes);
  void* memory = nullptr;
  try {
    memory = is_host() ? device_->allocate(bytes, memory_kind::pinned)
             : pooled_ ? device_->allocate(bytes)
                       : device_->allocate_unpooled(bytes);
  } catch (const out_of_memory&) {
    if (is_host()) throw;
    return nullptr;
  }
  used_ += bytes;
  return static_cast<std::byte*>(memory);
}

void place::free(std::byte* memory, std::uint64_t bytes) {
  if (disk_ != nullptr && disk_->has(memory)) return disk_->free(memory);
  if (pooled_) {
    device_->free(memory, bytes, is_host() ? memory_kind::pinned : device_->allocates());
  } else {
    device_->free_unpooled(memory);
  }
  used_ -= bytes;
}

}  // namespace imbrex
