#include "imbrex/device/pool/adopted_memory.h"

#include <iterator>
#include <utility>

namespace imbrex {

void adopted_memory::watch(watcher tell) {
  const std::lock_guard lock(mutex_);
  watcher_ = std::move(tell);
}

void adopted_memory::tell(const std::byte* piece, std::size_t bytes, const allocation& of, bool comes) const {
  if (watcher_ && !of.is_staged) watcher_(const_cast<std::byte*>(piece), bytes, of.kind, of.gpu, comes);
}

void adopted_memory::add(const std::byte* piece, std::size_t bytes, const allocation& of) {
  const std::lock_guard lock(mutex_);
  known& k = known_[of.start];
  k.what = of;  // the newest answer: the address may have been used again
  ++k.num_pieces;
  num_known_.store(known_.size(), std::memory_order_release);
  if (num_told_[piece]++ == 0) tell(piece, bytes, k.what, true);
}

adopted_memory::allocation adopted_memory::remove(const std::byte* piece, std::size_t bytes) noexcept {
  const std::lock_guard lock(mutex_);
  const auto found = find_locked(piece);
  if (found == known_.end()) return {};
  const auto told = num_told_.find(piece);
  if (told != num_told_.end() && --told->second == 0) {
    tell(piece, bytes, found->second.what, false);
    num_told_.erase(told);
  }
  const auto at = known_.find(found->first);
  if (--at->second.num_pieces > 0) return {};
  const allocation gone = at->second.what;
  known_.erase(at);
  num_known_.store(known_.size(), std::memory_order_release);
  return gone;
}

adopted_memory::allocations::const_iterator adopted_memory::find_locked(const std::byte* memory) const {
  const auto after = known_.upper_bound(memory);
  if (after == known_.begin()) return known_.end();
  const auto at = std::prev(after);
  return memory < at->first + at->second.what.bytes ? at : known_.end();
}

adopted_memory::allocation adopted_memory::find(const void* memory) const {
  const std::lock_guard lock(mutex_);
  const auto found = find_locked(static_cast<const std::byte*>(memory));
  return found != known_.end() ? found->second.what : allocation{};
}

}  // namespace imbrex
