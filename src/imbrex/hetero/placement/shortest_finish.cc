#include "imbrex/hetero/placement/shortest_finish.h"

#include <utility>

#include "imbrex/base/error.h"

namespace imbrex {

namespace {
constexpr int tasks_of_group = 16;   // that are looked at for one whose place has room
constexpr double bytes_per_ns = 20;  // what links bring, roughly; the tasks' own times are measured
constexpr double enough_ns = 2e6;    // of work for a device, which does it in the order in which it was given
}  // namespace

shortest_finish::shortest_finish(std::string file)
    : own_store_(std::make_unique<cost_store>(std::move(file))),
      store_(own_store_.get()),
      costs_(own_store_->known()) {}

shortest_finish::~shortest_finish() {
  if (store_ == nullptr) return;
  store_->learnt(costs_);
  if (own_store_ == nullptr) return;
  try {
    own_store_->write({own_store_->news()});
  } catch (const error&) {  // the next run learns anew
  }
}

double shortest_finish::expected(const placement_view& view, const task_node& t, const place& p) const {
  const double takes = costs_.estimate(cost_model::key_of(t, p));
  if (takes < 0) return 0;
  const auto busy = backlog_ns_.find(&p);
  return (busy == backlog_ns_.end() ? 0 : busy->second) + takes +
         static_cast<double>(view.missing_bytes(t, p)) / bytes_per_ns;
}

/// Where it would be over first; whether there is room or not.
place* shortest_finish::best_place(const placement_view& view, const task_node& t) const {
  place* best = nullptr;
  double best_end = 0;
  for (const auto& p : view.places()) {
    if (!view.eligible(t, *p)) continue;
    const double end = expected(view, t, *p);
    if (best != nullptr && end >= best_end) continue;
    best = p.get();
    best_end = end;
  }
  return best;
}

/// More would only stand in the way of what is urgent and cannot run yet.
bool shortest_finish::has_enough(const place& p) const {
  if (p.is_host() || p.num_tasks_under_way < p.num_compute_lanes()) return false;
  const auto busy = backlog_ns_.find(&p);
  return busy != backlog_ns_.end() && busy->second > enough_ns;
}

/// The first task whose place has room; the others wait for theirs.
placement_policy::choice shortest_finish::pop(const placement_view& view) {
  const choice c = ready_.look_in_order([&](ready_list& tasks) {
    task_node* before = nullptr;
    int num_looked_at = 0;
    for (task_node* t = tasks.first(); t != nullptr && num_looked_at < tasks_of_group; before = t, t = t->next) {
      ++num_looked_at;
      place* const p = best_place(view, *t);
      if (p == nullptr || !view.has_room(*p) || has_enough(*p)) continue;
      tasks.take_after(before);
      return choice{t, p};
    }
    return choice{};
  });
  if (c.task == nullptr) return c;
  const double takes = costs_.estimate(cost_model::key_of(*c.task, *c.at));
  if (takes >= 0) {
    expected_ns_[c.task] = takes;
    backlog_ns_[c.at] += takes;
  }
  return c;
}

void shortest_finish::finished(const task_node& t, std::int64_t nanoseconds) {
  if (t.at == nullptr) return;
  costs_.learn(cost_model::key_of(t, *t.at), static_cast<double>(nanoseconds));
  if (const auto found = expected_ns_.find(&t); found != expected_ns_.end()) {
    backlog_ns_[t.at] -= found->second;
    expected_ns_.erase(found);
  }
}

}  // namespace imbrex
