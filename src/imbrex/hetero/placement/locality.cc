#include "imbrex/hetero/placement/locality.h"

#include <algorithm>

namespace imbrex {

namespace {

constexpr int look_ahead = 2048;  // tasks that are looked at for one that moves nothing
constexpr int few = 16;           // that are looked at for one that need not wait
constexpr int patience = 10'000;  // so often the first may be overtaken

/// Devices before the host: it is there for what runs nowhere else.
bool preferred(const place& p, const place* best, std::uint64_t missing, std::uint64_t best_missing) {
  if (best == nullptr || best->is_host() != p.is_host()) return best == nullptr || best->is_host();
  if (missing != best_missing) return missing < best_missing;
  return p.num_tasks() < best->num_tasks();
}

/// Whether nothing that the task reads is still being computed: then it can run elsewhere sooner, else not. What is in
/// slices, whose data may be anywhere, is left where it is.
bool could_move(const task_node& t) {
  for (int n = 0; n < t.num_accesses; ++n) {
    if (!reads(t.accesses[n].mode)) continue;
    hetero_data& d = *t.accesses[n].data;
    bool is_there = false;
    for (int i = 0; i < d.num_places && d.family == nullptr; ++i)
      is_there |= d.at(i).state != coherence::invalid && d.at(i).written.reached();
    if (!is_there) return false;
  }
  return true;
}

}  // namespace

/// A task whose best place is full waits for it, unless another has its data as well.
locality::nearness locality::nearest(const placement_view& view, const task_node& t) {
  nearness n;
  for (const auto& p : view.places()) {
    if (!view.eligible(t, *p)) continue;
    const std::uint64_t missing = view.missing_bytes(t, *p);
    if (n.best != nullptr && n.best->is_host() == p->is_host() && missing == n.missing) n.is_only_best = false;
    if (!preferred(*p, n.best, missing, n.missing)) continue;
    if (n.best == nullptr || n.best->is_host() || missing != n.missing) n.is_only_best = true;
    n.best = p.get();
    n.missing = missing;
  }
  n.where = n.best;
  const bool is_busy = n.best != nullptr && n.best->num_tasks() >= n.best->num_compute_lanes();
  if (is_busy && !n.best->is_host()) [[unlikely]] {
    if (const nearness other = idle_instead(view, t); other.where != nullptr) {
      n.where = other.where;
      n.missing = other.missing;
    }
  }
  if (n.where != nullptr && !view.has_room(*n.where)) n.where = nullptr;
  return n;
}

/// A device with nothing to do, for where the one with the data has as much as it has streams. What the task reads is
/// there then, too, so that those which read the same may run at either.
[[gnu::noinline]] locality::nearness locality::idle_instead(const placement_view& view, const task_node& t) {
  nearness best;
  for (const auto& p : view.places()) {
    if (p->is_host() || p->num_tasks() > 0 || !view.eligible(t, *p) || !view.has_room(*p)) continue;
    const std::uint64_t missing = view.missing_bytes(t, *p);
    if (missing >= best.missing || p->used() + t.bytes() > p->capacity()) continue;
    best.where = p.get();
    best.missing = missing;
  }
  return best.where != nullptr && could_move(t) ? best : nearness{};
}

void locality::stand_in_line(const placement_view& view, task_node& t) {
  ++num_in_line_;
  const nearness n = nearest(view, t);
  if (n.best == nullptr || !n.is_only_best) return others_.push(t);
  lines_[static_cast<std::size_t>(n.best->number())].push(t);
}

/// Looks for a task that can be next, and needs nothing to go if there is one. Of those that have to wait a few are
/// looked at: they may be nearer to another place by now, and then stand there the next time.
locality::candidate locality::look_in(ready_list& line, const place* of, const placement_view& view) {
  candidate best;
  int num_looked_at = 0, num_waiting = 0;
  task_node* before = nullptr;
  for (task_node* t = line.first(); t != nullptr && num_looked_at < look_ahead && num_waiting < few;) {
    if (best.task != nullptr && t->wishes.priority < best.task->wishes.priority) break;
    const nearness n = nearest(view, *t);
    ++num_looked_at;
    if (n.where == nullptr) ++num_waiting;
    task_node* const next = t->next;
    if (n.where == nullptr && of != nullptr && n.best != of && n.is_only_best && n.best != nullptr) {
      --num_in_line_;
      come_.push(*line.take_after(before));  // not at once into its line, where somebody may have been found already
      t = next;
      continue;
    }
    if (n.where != nullptr && n.missing < best.missing) {
      const bool fits = n.where->used() + n.missing <= n.where->capacity();
      best = {&line, before, t, n.where, n.missing, n.missing == 0 || fits || num_overtaken_ >= patience};
      if (best.is_good) break;  // else something would have to go for it
    }
    before = t;
    t = next;
  }
  return best;
}

placement_policy::choice locality::take(const candidate& c) {
  if (c.task == nullptr) return {};
  num_overtaken_ = c.before == nullptr ? 0 : num_overtaken_ + 1;
  --num_in_line_;
  c.list->take_after(c.before);
  return {c.task, c.at};
}

placement_policy::choice locality::pop(const placement_view& view) {
  if (come_.empty() && lines_.empty()) return {};
  const auto& places = view.places();
  if (places.size() > 1) {
    if (num_in_line_ == 0) {
      if (const choice c = pop_at_once(view); c.task != nullptr) return c;
    }
    return pop_of_several(view);
  }
  if (!view.has_room(*places[0])) return {};
  return {come_.take_first(), places[0].get()};
}

/// The first that has come, where nobody waits and nothing has to go for it.
placement_policy::choice locality::pop_at_once(const placement_view& view) {
  if (come_.empty()) return {};
  const nearness n = nearest(view, *come_.first());
  if (n.where == nullptr || (n.missing > 0 && n.where->used() + n.missing > n.where->capacity())) return {};
  num_overtaken_ = 0;
  return {come_.take_first(), n.where};
}

[[gnu::noinline]] placement_policy::choice locality::pop_of_several(const placement_view& view) {
  if (come_.empty() && num_in_line_ == 0) return {};
  const auto& places = view.places();
  lines_.resize(places.size());
  while (!come_.empty()) stand_in_line(view, *come_.take_first());
  order_.clear();
  for (std::size_t i = 0; i < places.size(); ++i) {
    if (!lines_[i].empty()) order_.push_back({&lines_[i], places[i].get()});
  }
  others_.for_each([&](ready_list& tasks) { order_.push_back({&tasks, nullptr}); });
  std::ranges::sort(order_, [](const stop& a, const stop& b) {
    return ready_groups::goes_before(*a.tasks->first(), *b.tasks->first());
  });
  candidate best;
  for (const stop& s : order_) {
    const candidate c = look_in(*s.tasks, s.at, view);
    if (c.task != nullptr && (best.task == nullptr || c.is_good)) best = c;
    if (best.is_good) break;
  }
  if (best.task == nullptr && !come_.empty()) return pop_of_several(view);
  return take(best);
}

}  // namespace imbrex
