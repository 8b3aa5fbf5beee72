#include "imbrex/pe/remote/arrival_order.h"

#include <algorithm>

namespace imbrex {

void arrival_order::expect(arrival* a) { from_[a->from].push_back({a, false}); }

bool arrival_order::hold(wire_message* m, work::function in_turn) {
  const auto found = from_.find(m->header.from);
  if (found == from_.end()) return false;
  std::vector<waiting>& line = found->second;
  if (std::ranges::none_of(line, [m](const waiting& w) { return w.item->level <= m->level; })) return false;
  m->act = in_turn;
  line.push_back({m, true});
  return true;
}

void arrival_order::complete(arrival* a) {
  if (a->is_given_up) return a->act(a, work_action::discard);
  const auto found = from_.find(a->from);
  std::vector<waiting>& line = found->second;
  if (line.size() > 1) {
    std::ranges::find(line, a, &waiting::item)->is_ready = true;
    std::vector<work*> ready = take_ready(line);
    if (ready.empty()) return;  // its turn comes
    if (line.empty()) from_.erase(found);
    ready.erase(ready.begin());  // `a` itself: nothing before it was ready
    pe_.post_in_front(ready);
  } else {
    from_.erase(found);
  }
  a->act(a, work_action::run);
}

std::vector<work*> arrival_order::take_ready(std::vector<waiting>& line) {
  std::vector<work*> ready;
  int most_urgent_left = priority::least_urgent + 1;
  std::erase_if(line, [&](const waiting& w) {
    if (w.is_ready && w.item->level < most_urgent_left) {
      ready.push_back(w.item);
      return true;
    }
    most_urgent_left = std::min<int>(most_urgent_left, w.item->level);
    return false;
  });
  return ready;
}

void arrival_order::give_up(arrival* a) {
  if (const auto found = from_.find(a->from); found != from_.end()) {
    std::erase_if(found->second, [a](const waiting& w) { return w.item == a; });
    if (found->second.empty()) from_.erase(found);
  }
  a->act(a, work_action::discard);
}

void arrival_order::discard() {
  for (auto& [from, line] : std::exchange(from_, {})) {
    for (const waiting& w : line) {
      if (w.is_ready) {
        w.item->act(w.item, work_action::discard);
      } else {
        static_cast<arrival*>(w.item)->is_given_up = true;
      }
    }
  }
}

}  // namespace imbrex
