#include "imbrex/hetero/tasks/hetero_domain.h"

#include <algorithm>

#include "imbrex/base/clock.h"
#include "imbrex/hetero/graph/task_trace.h"

namespace imbrex {

/// Behind what it has to wait for, if that is in a lane of its own device, so that no event is needed. Where something
/// less urgent is under way, in a lane that overtakes it.
lane& hetero_domain::choose_lane(task_node& t) const {
  place& p = *t.at;
  const bool overtakes = p.priorities_under_way.has_below(t.wishes.priority);
  const auto& lanes = overtakes ? p.urgent() : p.compute();
  for (const task_access& a : t.uses()) {
    const lane_point& w = a.data->at(p.number()).written;
    if (w.reached() || w.of == &p.in() || w.of == &p.from_peers() || w.of == &p.out() || w.number != w.of->num_issued())
      continue;
    for (const auto& l : lanes) {
      if (l.get() == w.of) return *l;
    }
  }
  return overtakes ? p.next_urgent() : p.next_compute();
}

void hetero_domain::run_on_device(task_node& t) {
  place& p = *t.at;
  lane& l = t.stays_open() ? (writes(t.accesses[0].mode) ? p.in() : p.out()) : choose_lane(t);
  copies_.order(t, l);
  for (const lane_point& q : t.after()) l.wait(q);
  if (t.stays_open()) copies_.begun(t);
  if (trace_ != nullptr) [[unlikely]]
    trace_->enqueued(t);
  if (learns_) note_begin(t, l);
  call(t, &*l);
  if (learns_) note_end(t, l);
  if (t.stays_open() && !t.threw()) {
    t.state = task_state::issued;
    t.extras().open_in = &l;
    return;
  }
  enqueued(t, l);
}

/// The time a task takes is how long it keeps its place busy: from when its lane comes to it, that is when what stood
/// before it there is over and its data have come, but not while tasks of other lanes still end. So tasks that run at
/// once share the time, and the sum of those that wait is when the place will be free.
void hetero_domain::note_begin(task_node& t, lane& l) {
  l->then("a task begins", [h = hetero_task(&t)] { h.node()->extras().ran.began_ns = moment(); });
}

/// While the PE has run a task of the host it has noticed nothing: what it says then is no time.
void hetero_domain::note_end(task_node& t, lane& l) {
  constexpr std::int64_t one_look = 20'000;
  l->then("a task ends", [h = hetero_task(&t)] {
    place& at = *h.node()->at;
    task_times& ran = h.node()->extras().ran;
    ran.ended_ns = moment();
    if (ran.began_ns < h.node()->domain->looked_away_until_ns_ + one_look) {
      at.last_end_ns = ran.began_ns = ran.ended_ns;
      return;
    }
    ran.began_ns = std::max(ran.began_ns, std::exchange(at.last_end_ns, ran.ended_ns));
  });
}

namespace {
/// The task's place, or all of them.
template <class F>
void for_each_place(task_node& t, F f) {
  if (!t.is_spread) [[likely]]
    return f(*t.at);
  for (const auto& p : t.domain->places()) {
    if (std::ranges::find(t.extras().places, p.get()) != t.extras().places.end()) f(*p);
  }
}
}  // namespace

void hetero_domain::enqueued(task_node& t, lane& l) {
  task_extras& x = t.extras();
  x.end = l.put();
  copies_.used(t, x.end);
  if (t.threw()) {
    t.state = task_state::failed;
    complete(t);
    return;
  }
  t.state = task_state::issued;
  for_each_place(t, [&](place& p) {
    ++p.num_tasks_under_way;
    p.priorities_under_way.add(t.wishes.priority);
  });
  x.end_wait.of = &t;
  x.end_wait.reached = [](lane_wait* a) {
    if (a->is_abandoned()) return;
    task_node& ended = *static_cast<task_end_wait*>(a)->of;
    for_each_place(ended, [&](place& p) {
      --p.num_tasks_under_way;
      p.priorities_under_way.remove(ended.wishes.priority);
    });
    ended.state = task_state::done;
    ended.domain->complete(ended);
  };
  l.when_reached(x.end.number, &x.end_wait);
  release(t);
}

}  // namespace imbrex
