#include "imbrex/device/pool/slab_pool.h"

#include <algorithm>
#include <bit>
#include <cstdio>
#include <cstdlib>
#include <iterator>
#include <limits>
#include <string_view>

#include <fmt/format.h>

#include "imbrex/base/error.h"

namespace imbrex {

namespace {

constexpr std::size_t own_slab_unit = std::size_t{2} << 20;
constexpr std::size_t most_holders_named = 5;
constexpr std::size_t most_bytes = std::numeric_limits<std::size_t>::max() / 4;  // no rounding overflows below

std::uintptr_t address_of(const void* memory) { return reinterpret_cast<std::uintptr_t>(memory); }
void* at_address(std::uintptr_t address) { return reinterpret_cast<void*>(address); }

std::size_t round_up(std::size_t bytes, std::size_t unit) { return (bytes + unit - 1) / unit * unit; }

std::string_view name_of(const char* holder) { return holder != nullptr ? holder : "unnamed"; }

std::string readable(std::uint64_t bytes) {
  if (bytes < 1000) return fmt::format("{} bytes", bytes);
  double value = static_cast<double>(bytes) / 1e3;
  std::string_view units = "kMGTPE";
  while (value >= 999.995) {
    value /= 1e3;
    units.remove_prefix(1);
  }
  return fmt::format("{:.2f} {}B", value, units.front());
}

std::string readable_and_exact(std::uint64_t bytes) {
  return bytes < 1000 ? readable(bytes) : fmt::format("{} ({} bytes)", readable(bytes), bytes);
}

[[noreturn]] void end_program(const std::string& what) {
  fmt::print(stderr, "imbrex: {}\n", what);
  std::abort();
}

}  // namespace

slab_pool::slab_pool(memory_source& source, std::size_t slab_bytes, std::size_t alignment)
    : source_(source),
      slab_bytes_(slab_bytes <= most_bytes && std::has_single_bit(alignment) ? round_up(slab_bytes, alignment) : 0),
      alignment_(alignment) {
  if (slab_bytes_ == 0 || alignment > most_bytes) {
    throw usage_error(
        fmt::format("no pool has slabs of {} bytes aligned to {}: use a power of two for the alignment "
                    "and more than zero bytes",
                    slab_bytes, alignment));
  }
}

slab_pool::~slab_pool() {
  for (auto& [base, s] : slabs_) {
    if (watcher_) watcher_(at_address(base), s.bytes, false);
    source_.give(at_address(base), s.bytes);
  }
}

void slab_pool::watch(slab_watcher watcher) {
  const std::lock_guard lock(mutex_);
  watcher_ = std::move(watcher);
  if (!watcher_) return;
  for (const auto& [base, s] : slabs_) watcher_(at_address(base), s.bytes, true);
}

void* slab_pool::allocate(std::size_t bytes, const char* holder) {
  own_lock lock(mutex_);
  if (bytes > most_bytes) fail(bytes, holder);
  const std::size_t size = rounded(bytes);
  holding& by = held_by(holder);
  auto at = best_fit(size);
  if (at == ranges_.end()) {
    grow(size, lock);
    at = best_fit(size);
    if (at == ranges_.end()) fail(bytes, holder);
  }
  if (at->second.bytes > size) split(at, size);
  take_out(at);
  range& r = at->second;
  r.holder = &by;
  by.bytes += size;
  ++by.count;
  usage_.in_use += size;
  usage_.high_water = std::max(usage_.high_water, usage_.in_use);
  ++usage_.allocations;
  source_.hands_out(at_address(at->first), bytes);
  return at_address(at->first);
}

void slab_pool::free(void* memory) noexcept {
  if (memory == nullptr) return;
  const std::lock_guard lock(mutex_);
  auto at = ranges_.find(address_of(memory));
  if (at == ranges_.end() || at->second.holder == nullptr) {
    end_program(fmt::format("{} was freed, but is not in use in the pool of {}: free it once, where it came from",
                            fmt::ptr(memory), source_.name()));
  }
  source_.takes_back(memory);
  range& r = at->second;
  r.holder->bytes -= r.bytes;
  --r.holder->count;
  usage_.in_use -= r.bytes;
  r.holder = nullptr;
  if (const auto next = std::next(at); next != ranges_.end() && joins(next, r.in)) {
    take_out(next);
    absorb_next(at);
  }
  if (at != ranges_.begin() && joins(std::prev(at), r.in)) {
    --at;
    take_out(at);
    absorb_next(at);
  }
  make_free(at);
}

std::uint64_t slab_pool::trim() {
  own_lock lock(mutex_);
  return give_back_free_slabs(lock);
}

slab_pool::slab_span slab_pool::slab_of(const void* memory) const {
  const std::uintptr_t address = address_of(memory);
  const std::lock_guard lock(mutex_);
  auto after = slabs_.upper_bound(address);
  if (after == slabs_.begin()) return {};
  const auto& [base, s] = *std::prev(after);
  if (address - base >= s.bytes) return {};
  return {at_address(base), s.bytes};
}

slab_pool::usage slab_pool::used() const {
  const std::lock_guard lock(mutex_);
  return usage_;
}

std::vector<slab_pool::holder_use> slab_pool::holders() const {
  const std::lock_guard lock(mutex_);
  return sorted_holders();
}

slab_pool::range slab_pool::new_range(std::size_t bytes, const slab* in) {
  by_size one;
  one.emplace(bytes, 0);
  return {bytes, in, nullptr, one.extract(one.begin())};
}

std::size_t slab_pool::rounded(std::size_t bytes) const {
  return round_up(std::max<std::size_t>(bytes, 1), alignment_);
}

slab_pool::holding& slab_pool::held_by(const char* holder) {
  const std::string_view name = name_of(holder);
  if (auto at = holders_.find(name); at != holders_.end()) return at->second;
  return holders_.emplace(name, holding{}).first->second;
}

slab_pool::ranges::iterator slab_pool::best_fit(std::size_t bytes) {
  const auto fit = free_.lower_bound({bytes, 0});
  return fit == free_.end() ? ranges_.end() : ranges_.find(fit->second);
}

// Leaves a free range that fits, if the source has one.
void slab_pool::grow(std::size_t bytes, own_lock& lock) {
  const std::size_t own = round_up(bytes, std::max(own_slab_unit, alignment_));
  const std::size_t wanted = bytes > slab_bytes_ ? own : slab_bytes_;
  if (add_slab(wanted)) return;
  if (give_back_free_slabs(lock) > 0 && (best_fit(bytes) != ranges_.end() || add_slab(wanted))) return;
  if (own < wanted) add_slab(own);
}

bool slab_pool::add_slab(std::size_t bytes) {
  ++usage_.source_calls;
  void* const memory = source_.get(bytes);
  if (memory == nullptr) return false;
  const std::uintptr_t base = address_of(memory);
  if (base % alignment_ != 0) {
    end_program(fmt::format("{} gave a slab at {}, which is not aligned to {} bytes", source_.name(), fmt::ptr(memory),
                            alignment_));
  }
  try {
    const slab& added = slabs_.emplace(base, slab{bytes}).first->second;
    make_free(ranges_.emplace(base, new_range(bytes, &added)).first);
  } catch (...) {
    slabs_.erase(base);
    source_.give(memory, bytes);
    throw;
  }
  usage_.from_source += bytes;
  ++usage_.slabs;
  if (watcher_) watcher_(memory, bytes, true);
  return true;
}

// Cuts the free range after `bytes`; both parts are free.
void slab_pool::split(ranges::iterator at, std::size_t bytes) {
  range& first = at->second;
  const auto rest = ranges_.emplace_hint(std::next(at), at->first + bytes, new_range(first.bytes - bytes, first.in));
  take_out(at);
  first.bytes = bytes;
  make_free(at);
  make_free(rest);
}

void slab_pool::make_free(ranges::iterator at) noexcept {
  range& r = at->second;
  r.place.value() = {r.bytes, at->first};
  free_.insert(std::move(r.place));
}

void slab_pool::take_out(ranges::iterator at) noexcept {
  at->second.place = free_.extract({at->second.bytes, at->first});
}

// Slabs may lie side by side, but are given back one by one: ranges join only within one.
bool slab_pool::joins(ranges::iterator neighbour, const slab* in) {
  return neighbour->second.holder == nullptr && neighbour->second.in == in;
}

void slab_pool::absorb_next(ranges::iterator at) noexcept {
  const auto next = std::next(at);
  at->second.bytes += next->second.bytes;
  ranges_.erase(next);
}

std::uint64_t slab_pool::give_back_free_slabs(own_lock& lock) {
  if (!source_.why_kept().empty()) return 0;
  std::vector<slab_span> given;
  for (auto s = slabs_.begin(); s != slabs_.end();) {
    const auto& [base, its] = *s;
    const auto first = ranges_.find(base);
    if (first->second.holder != nullptr || first->second.bytes != its.bytes) {
      ++s;
      continue;
    }
    free_.erase({its.bytes, base});
    ranges_.erase(first);
    ++usage_.source_calls;
    --usage_.slabs;
    usage_.from_source -= its.bytes;
    if (watcher_) watcher_(at_address(base), its.bytes, false);
    given.push_back({at_address(base), its.bytes});
    s = slabs_.erase(s);
  }
  return give(given, lock);
}

// Without the lock: the source may wait for a GPU, and the GPU for a PE that needs this pool.
std::uint64_t slab_pool::give(const std::vector<slab_span>& slabs, own_lock& lock) {
  if (slabs.empty()) return 0;
  std::uint64_t bytes = 0;
  lock.unlock();
  for (const slab_span& s : slabs) {
    source_.give(s.base, s.bytes);
    bytes += s.bytes;
  }
  lock.lock();
  return bytes;
}

std::vector<slab_pool::holder_use> slab_pool::sorted_holders() const {
  std::vector<holder_use> all;
  for (const auto& [name, h] : holders_) {
    if (h.count > 0) all.push_back({name, h.bytes, h.count});
  }
  std::ranges::sort(all, [](const holder_use& a, const holder_use& b) {
    return a.bytes != b.bytes ? a.bytes > b.bytes : a.holder < b.holder;
  });
  return all;
}

void slab_pool::fail(std::size_t bytes, const char* holder) const {
  std::string text = fmt::format(
      "no memory for {} for '{}' on {}: it has {} free; the pool holds {}, of which {} are in use and {} "
      "free (the largest range {})",
      readable_and_exact(bytes), name_of(holder), source_.name(), readable(source_.free_bytes()),
      readable(usage_.from_source), readable(usage_.in_use), readable(usage_.from_source - usage_.in_use),
      readable(free_.empty() ? 0 : free_.rbegin()->first));
  const std::vector<holder_use> all = sorted_holders();
  const char* before = "; largest holders: ";
  for (std::size_t i = 0; i < std::min(all.size(), most_holders_named); ++i) {
    text += fmt::format("{}'{}' {} in {}", std::exchange(before, ", "), all[i].holder, readable(all[i].bytes),
                        all[i].count);
  }
  if (const std::string why = source_.why_kept(); !why.empty()) text += "; what is free was not given back: " + why;
  throw out_of_memory(text + "; use more GPUs or nodes, or a smaller problem");
}

}  // namespace imbrex
