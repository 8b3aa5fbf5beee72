#include "imbrex/comm/loopback/loopback_link.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "imbrex/base/clock.h"
#include "imbrex/base/error.h"

namespace imbrex {

loopback_network::link::link(rank_id from, rank_id to, const loopback_options& options)
    : from_(from),
      to_(to),
      options_(options),
      holds_(options.max_delay_us > 0 || options.fault != loopback_fault::none),
      random_(mix(options.seed ^ mix((static_cast<std::uint64_t>(from) << 32) | static_cast<std::uint32_t>(to)))) {}

loopback_network::link::~link() {
  for (const held& h : held_) wire_message::destroy(h.message);
}

loopback_network::link::pair& loopback_network::link::pair_of(const wire_message& m) {
  return pairs_[(static_cast<std::uint64_t>(static_cast<std::uint32_t>(m.header.from)) << 32) |
                static_cast<std::uint32_t>(m.header.to)];
}

// Never before an earlier message of the same pair of PEs, nor, unless reordering, before any earlier one.
std::int64_t loopback_network::link::due_time(pair& p) {
  if (options_.max_delay_us == 0) return 0;
  const auto bound = static_cast<std::uint64_t>(options_.max_delay_us) * 1000;
  const std::int64_t random = now_ns() + static_cast<std::int64_t>(random_.below(bound));
  p.last_due = std::max(random, options_.reorder ? p.last_due : last_due_);
  last_due_ = std::max(last_due_, p.last_due);
  return p.last_due;
}

void loopback_network::link::hold(std::int64_t due, std::uint64_t number, wire_message* m) {
  held_.push_back(held{due, turn_++, number, m});
  std::push_heap(held_.begin(), held_.end());
  num_held_.store(held_.size(), std::memory_order_relaxed);
  flood_.look(held_.size(), to_, m->wire_size());
}

void loopback_network::link::send(wire_message* m) {
  const std::lock_guard lock(mutex_);
  pair& p = pair_of(*m);
  const std::uint64_t number = p.sent++;
  if (started_ && !holds_) return deliver(number, m);

  const std::int64_t due = due_time(p);
  const bool faulty = options_.fault != loopback_fault::none && (number + 1) % options_.fault_every == 0;
  if (!faulty) return hold(due, number, m);
  if (options_.fault == loopback_fault::swap) {
    constexpr std::int64_t late_ns = 2'000'000;
    hold(now_ns() + options_.max_delay_us * 1000 + late_ns, number, m);
  } else if (options_.fault == loopback_fault::drop) {
    wire_message::destroy(m);
  } else {
    wire_message* twin = wire_message::make(m->header.size);
    std::memcpy(twin->wire_bytes(), m->wire_bytes(), m->wire_size());
    hold(due, number, m);
    hold(due, number, twin);
  }
}

void loopback_network::link::deliver(std::uint64_t number, wire_message* m) {
  pair& p = pair_of(*m);
  const bool in_order = number == p.arrived;
  if (in_order && delivery_.post(m)) [[likely]] {
    ++p.arrived;
    return;
  }
  const pe_id from_pe = m->header.from;
  const pe_id to_pe = m->header.to;
  wire_message::destroy(m);
  if (in_order) {
    throw comm_error(fmt::format("a message from pe {} of rank {} is for pe {}, but rank {} has pes {} to {}", from_pe,
                                 from_, to_pe, to_, delivery_.first_pe,
                                 delivery_.first_pe + static_cast<pe_id>(delivery_.pes.size()) - 1));
  }
  throw comm_error(fmt::format("message {} from pe {} to pe {} arrived on rank {} where number {} was due: {}", number,
                               from_pe, to_pe, to_, p.arrived,
                               number > p.arrived ? "one was lost or overtaken" : "it came twice or late"));
}

void loopback_network::link::deliver_next() {
  std::pop_heap(held_.begin(), held_.end());
  const held next = held_.back();
  held_.pop_back();
  num_held_.store(held_.size(), std::memory_order_relaxed);
  deliver(next.number, next.message);
}

void loopback_network::link::start(const delivery& to) {
  const std::lock_guard lock(mutex_);
  delivery_ = to;
  started_ = true;
  while (!holds_ && !held_.empty()) deliver_next();
}

bool loopback_network::link::poll() {
  if (num_held_.load(std::memory_order_relaxed) == 0) return false;
  const std::unique_lock lock(mutex_, std::try_to_lock);
  if (!lock.owns_lock() || !started_) return false;
  bool any = false;
  const std::int64_t now = now_ns();
  while (!held_.empty() && held_.front().due <= now) {
    deliver_next();
    any = true;
  }
  return any;
}

void loopback_network::link::stop(bool failed) {
  const std::lock_guard lock(mutex_);
  started_ = false;
  // What is still on the way is not lost; a twin counts once.
  std::sort(held_.begin(), held_.end(), [](const held& a, const held& b) { return a.number < b.number; });
  for (const held& h : held_) {
    pair& p = pair_of(*h.message);
    if (h.number >= p.arrived) ++p.arrived;
    wire_message::destroy(h.message);
  }
  held_.clear();
  num_held_.store(0, std::memory_order_relaxed);
  if (failed) return;
  for (const auto& [key, p] : pairs_) {
    if (p.sent == p.arrived) continue;
    throw comm_error(fmt::format("{} messages went from pe {} to pe {}, but {} arrived on rank {}", p.sent,
                                 static_cast<pe_id>(key >> 32), static_cast<pe_id>(key & 0xffffffff), p.arrived, to_));
  }
}

}  // namespace imbrex
