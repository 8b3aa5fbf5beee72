#include "imbrex/object/collection/broadcast_ledger.h"

#include <algorithm>

#include "imbrex/object/collection/collection.h"

namespace imbrex {

void broadcast_ledger::continue_from(const std::uint32_t (&begun)[priority::num_levels]) {
  std::copy(std::begin(begun), std::end(begun), std::begin(begun_));
}

void broadcast_ledger::take(const broadcast_id& id) {
  for (broadcast_id& h : taken_) {
    if (h.stream != id.stream) continue;
    h.number = id.number;
    return;
  }
  taken_.push_back(id);
}

std::uint64_t broadcast_ledger::begin_departure() {
  departures_.emplace(++last_departure_, first_kept_ + kept_.size());
  return last_departure_;
}

void broadcast_ledger::complete_departure(collection& array, std::uint64_t number, const element_base& e,
                                          const std::vector<broadcast_range>& missing) {
  for (const broadcast_range& r : missing) {
    const std::uint32_t taken = std::min(num_taken(r.stream), r.last);
    for (const kept& k : kept_) {
      if (k.id.stream == r.stream && k.id.number >= r.first && k.id.number <= taken) array.send_missed(e, k.id, k.call);
    }
    if (taken < r.last) owed_.push_back({&e, {r.stream, std::max(r.first, taken + 1), r.last}});
  }
  departures_.erase(number);
  forget_unneeded();
}

void broadcast_ledger::keep(collection& array, const broadcast_id& id, const shared_call& call) {
  for (debt& d : owed_) {
    if (d.which.stream != id.stream || d.which.first != id.number) continue;
    array.send_missed(*d.to, id, call);
    ++d.which.first;
  }
  std::erase_if(owed_, [](const debt& d) { return d.which.first > d.which.last; });
  if (!departures_.empty()) kept_.push_back({id, call});
}

void broadcast_ledger::forget_unneeded() {
  const std::uint64_t end = first_kept_ + kept_.size();
  std::uint64_t needed = end;
  for (const auto& [number, first] : departures_) needed = std::min(needed, first);
  for (; first_kept_ < needed; ++first_kept_) kept_.pop_front();
}

std::vector<work*> broadcast_ledger::take_waiting() {
  std::vector<work*> ready;
  std::erase_if(waiting_, [&](const waiting_work& w) {
    const bool go = has_taken(w.id);
    if (go) ready.push_back(w.item);
    return go;
  });
  return ready;
}

void broadcast_ledger::discard() {
  for (const waiting_work& w : std::exchange(waiting_, {})) w.item->act(w.item, work_action::discard);
}

}  // namespace imbrex
