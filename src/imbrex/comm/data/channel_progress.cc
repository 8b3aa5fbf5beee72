#include <algorithm>

#include "imbrex/comm/data/channel_end.h"

// Apart from what each message passes: there the compiler shall see through the ends of messages.
namespace imbrex {

channel_progress channel_end::leave(std::vector<channel_message>& come) {
  const channel_progress so_far{next_sent_, next_expected_ - ready_.size(), opening_, peer_opening_, peer_};
  for (parked_message& m : std::exchange(ready_, {})) come.push_back(m.take());
  for (auto& early : std::exchange(early_, {})) come.push_back(early.second.take());
  return so_far;
}

void channel_end::resume(const channel_progress& p) {
  next_sent_ = p.next_sent;
  next_expected_ = p.next_expected;
  opening_ = p.opening;
  peer_opening_ = p.peer_opening;
  peer_ = p.peer;
}

std::vector<channel_message> channel_end::take_bound(bool to_other_process) {
  const auto is_bound = [=](const parked_message& m) { return m.is_bound(to_other_process); };
  if (std::ranges::none_of(ready_, is_bound) &&
      std::ranges::none_of(early_, [&](const auto& m) { return is_bound(m.second); }))
    return {};
  std::vector<channel_message> come, bound;
  resume(leave(come));
  for (channel_message& m : come) {
    if (m.is_bound(to_other_process)) {
      bound.push_back(std::move(m));
    } else {
      arrived(std::move(m));
    }
  }
  return bound;
}

}  // namespace imbrex
