#include "imbrex/hetero/placement/shortest_finish.h"

#include <algorithm>
#include <utility>

#include "imbrex/base/error.h"

namespace imbrex {

namespace {
constexpr int tasks_of_group = 16;        // that are looked at for one whose place has room
constexpr double enough_ns = 2e6;         // of work for a device, which does it in the order in which it was given
constexpr double enough_coming_ns = 2e6;  // over a device's link from the host, which brings it in that order, too

// What moves for good: where it was it might have been used again without moving.
constexpr std::uint64_t times_dearer = 4;

std::uint64_t weighed(const missing_data& m) { return m.from_devices + (times_dearer - 1) * m.moved; }
constexpr double never_ns = 1e18;  // where a first task of its kind has not ended: rather elsewhere
bool is_free(const incoming_link& l) { return l.ns_for(0) < enough_coming_ns; }
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

/// Where a task would be over first.
struct shortest_finish::prospect {
  place* at = nullptr;
  double end_ns = 0;
  bool from_host = false;     // large data have to come from there
  bool link_is_busy = false;  // wherever it could run they have to, and no link could bring them soon
};

/// Whether there is room or not; but where links have to bring much, a device whose link could do so soon goes before
/// others.
shortest_finish::prospect shortest_finish::best_place(const placement_view& view, const task_node& t) {
  prospect best;
  bool tries_device = false;
  for (const auto& p : view.places()) {
    if (!view.eligible(t, *p)) continue;
    const missing_data missing = view.missing(t, *p);
    const incoming_link &host = p->link_from_host(), &devices = p->link_from_peers();
    prospect here{p.get()};
    here.from_host = !p->is_host() && host.is_large(missing.from_host);
    here.link_is_busy = here.from_host && !is_free(host);
    const double takes = known_.estimate(t, *p);
    if (takes >= 0) {
      here.end_ns = backlog_ns(*p) + takes;
      if (missing.from_host > 0) here.end_ns += host.ns_for(missing.from_host);
      if (missing.from_devices > 0) here.end_ns += devices.ns_for(weighed(missing));
    } else {
      const int on_trial = known_.num_on_trial(t, *p);
      here.end_ns = on_trial > 0 ? never_ns * on_trial : p->is_host() ? 0 : -1;
      tries_device |= on_trial > 0 && !p->is_host();
    }
    const bool by_links = best.at != nullptr && !best.at->is_host() && here.link_is_busy != best.link_is_busy;
    const bool sooner = by_links ? best.link_is_busy : here.end_ns < best.end_ns;
    if (best.at == nullptr || sooner) best = here;
  }
  // It might be a thousand times as fast.
  if (tries_device && best.at->is_host()) best.at = nullptr;
  return best;
}

/// More would only stand in the way of what is urgent and cannot run yet.
bool shortest_finish::has_enough(const place& p) const {
  if (p.is_host() || p.num_tasks_under_way < p.num_compute_lanes()) return false;
  return backlog_ns(p) > enough_ns;
}

double shortest_finish::backlog_ns(const place& p) const {
  const auto number = static_cast<std::size_t>(p.number());
  return number < backlog_ns_.size() ? backlog_ns_[number] : 0;
}

/// Whether a place could take any of those that may run where `first` may. Else none of them is worth a look.
bool shortest_finish::has_use(const placement_view& view, const task_node& first, bool of_links) const {
  return std::ranges::any_of(view.places(), [&](const std::unique_ptr<place>& p) {
    if (!view.has_room(*p)) return false;
    return p->is_host() ? view.eligible(first, *p) : !has_enough(*p) || (of_links && is_free(p->link_from_host()));
  });
}

/// The first task whose place has room; the others wait for theirs. Those that would only wait for a link are put
/// aside, however many there are, so that they are not looked at each time.
placement_policy::choice shortest_finish::pop_from(ready_groups& from, const placement_view& view) {
  return from.look_in_order([&](ready_list& tasks) {
    if (!has_use(view, *tasks.first(), &from == &for_links_ || links_may_be_of_use_)) return choice{};
    task_node* before = nullptr;
    int num_looked_at = 0;
    for (task_node* t = tasks.first(); t != nullptr && num_looked_at < tasks_of_group;) {
      const prospect best = best_place(view, *t);
      task_node* const next = t->next;
      if (best.link_is_busy && &from == &ready_) {
        tasks.take_after(before);
        for_links_.push(*t);
      } else if (best.at == nullptr || best.link_is_busy || !view.has_room(*best.at) ||
                 (!best.from_host && has_enough(*best.at))) {
        ++num_looked_at;
        before = t;
      } else {
        tasks.take_after(before);
        return choice{t, best.at};
      }
      t = next;
    }
    return choice{};
  });
}

placement_policy::choice shortest_finish::pop(const placement_view& view) {
  const bool links_first = for_links_.has_before(ready_);
  choice c = pop_from(links_first ? for_links_ : ready_, view);
  if (c.task == nullptr) c = pop_from(links_first ? ready_ : for_links_, view);
  if (c.task != nullptr) {
    given(c);
  } else {
    links_may_be_of_use_ = false;
  }
  return c;
}

void shortest_finish::given(const choice& c) {
  const double takes = known_.estimate(*c.task, *c.at);
  expected_ns_[c.task] = takes;
  if (takes < 0) return known_.begin_trial(*c.task, *c.at);
  const auto number = static_cast<std::size_t>(c.at->number());
  if (backlog_ns_.size() <= number) backlog_ns_.resize(number + 1, 0);
  backlog_ns_[number] += takes;
}

void shortest_finish::finished(const task_node& t, std::int64_t nanoseconds) {
  if (t.at == nullptr) return;
  if (nanoseconds > 0) costs_.learn(cost_model::key_of(t, *t.at), static_cast<double>(nanoseconds));
  const auto found = expected_ns_.find(&t);
  if (found == expected_ns_.end()) return;
  if (found->second < 0) {
    known_.end_trial(t, *t.at);
  } else {
    backlog_ns_[static_cast<std::size_t>(t.at->number())] -= found->second;
  }
  expected_ns_.erase(found);
}

}  // namespace imbrex
