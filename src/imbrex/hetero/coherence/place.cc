#include "imbrex/hetero/coherence/place.h"

#include <algorithm>

#include <fmt/format.h>

#include "imbrex/base/error.h"
#include "imbrex/base/topology.h"

namespace imbrex {

namespace {
constexpr double host_bytes_per_ns = 20, peer_bytes_per_ns = 100;  // until copies have told
}

place::place(device& memory_of, const hetero_options& options)
    : number_(0),
      device_(&memory_of),
      capacity_(UINT64_MAX),
      pooled_(true),
      from_host_(host_bytes_per_ns, options.large_copy_bytes),
      from_other_devices_(peer_bytes_per_ns, options.large_copy_bytes) {
  if (options.disk.empty()) return;
  disk_ = std::make_unique<file_memory>(options.disk);
  before_disk_ = options.host_bytes > 0
                     ? options.host_bytes
                     : available_host_memory() / 2 / static_cast<unsigned>(std::max(options.sharing, 1));
}

place::place(int number, device& d, std::uint64_t capacity, const hetero_options& options, bool has_peers,
             int first_lane)
    : number_(number),
      device_(&d),
      capacity_(capacity),
      pooled_(options.pooled_memory || !d.allocates_unpooled()),
      from_host_(host_bytes_per_ns, options.large_copy_bytes),
      from_other_devices_(peer_bytes_per_ns, options.large_copy_bytes),
      num_urgent_(options.urgent_lanes),
      next_lane_(first_lane) {
  if (options.transfer_lanes) {
    in_ = make_lane(stream_priority::high, "incoming", true);
    out_ = make_lane(stream_priority::high, "outgoing", true);
    if (has_peers) from_peers_ = make_lane(stream_priority::high, "peers'", true);
  }
  // Other devices wait for what a task has written, and not for what its lane has been given since.
  for (int i = 0; i < options.compute_lanes; ++i)
    compute_.push_back(make_lane(stream_priority::low, "compute", has_peers));
}

std::unique_ptr<lane> place::make_lane(stream_priority p, const char* what, bool keeps_points) {
  auto l = std::make_unique<lane>(device_->make_stream(p, fmt::format("the {} lane of {}", what, name())), next_lane_++,
                                  keeps_points);
  if (progress_ != nullptr) l->on_progress(progress_, progress_argument_);
  return l;
}

void place::on_progress(void (*f)(void*), void* argument) {
  progress_ = f;
  progress_argument_ = argument;
  for_each_lane([&](lane& l) { l.on_progress(f, argument); });
}

std::string place::name() const {
  return is_host() ? "the host"
                   : fmt::format("{} {} ({})", to_string(device_->kind()), device_->number(), device_->name());
}

/// The next in turn, or one with less under way.
lane& place::next_of(std::vector<std::unique_ptr<lane>>& lanes, std::size_t& turn) {
  std::size_t best = turn;
  for (std::size_t i = 1; i < lanes.size() && !lanes[best]->idle(); ++i) {
    const std::size_t other = (turn + i) % lanes.size();
    if (lanes[other]->num_under_way() < lanes[best]->num_under_way()) best = other;
  }
  turn = (best + 1) % lanes.size();
  return *lanes[best];
}

lane& place::next_compute() { return next_of(compute_, turn_); }

lane& place::next_urgent() {
  if (num_urgent_ == 0) return next_compute();
  while (urgent_.size() < static_cast<std::size_t>(num_urgent_))
    urgent_.push_back(make_lane(stream_priority::high, "urgent", from_peers_ != nullptr));
  lane& l = next_of(urgent_, urgent_turn_);
  const bool none_is_idle = std::ranges::none_of(compute_, [](const auto& other) { return other->idle(); });
  return l.idle() || none_is_idle ? l : next_compute();
}

void place::flush() {
  for_each_lane([](lane& l) { l.flush(); });
}

bool place::idle() const {
  if (is_host()) return true;
  for (const auto* const lanes : {&compute_, &urgent_}) {
    for (const auto& l : *lanes) {
      if (!l->idle()) return false;
    }
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
