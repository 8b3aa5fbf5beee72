#include "imbrex/hetero/shortest_finish.h"

#include <utility>

#include "imbrex/base/error.h"

namespace imbrex {

namespace {
constexpr double bytes_per_ns = 20;  // what links bring, roughly; the tasks' own times are measured
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
  const cost_model::mean* const known = costs_.find(cost_model::key_of(t, p));
  if (known == nullptr) return 0;
  const auto busy = backlog_ns_.find(&p);
  return (busy == backlog_ns_.end() ? 0 : busy->second) + known->nanoseconds +
         static_cast<double>(view.missing_bytes(t, p)) / bytes_per_ns;
}

placement_policy::choice shortest_finish::pop(const placement_view& view) {
  task_node* const t = ready_.first();
  if (t == nullptr) return {};
  choice best;
  double best_end = 0;
  for (const auto& p : view.places()) {
    if (!view.eligible(*t, *p)) continue;
    const double end = expected(view, *t, *p);
    if (best.at != nullptr && end >= best_end) continue;
    best = {t, p.get()};
    best_end = end;
  }
  if (best.at == nullptr || !view.has_room(*best.at)) return {};
  ready_.take_after(nullptr);
  const cost_model::mean* const known = costs_.find(cost_model::key_of(*t, *best.at));
  if (known != nullptr) {
    expected_ns_[t] = known->nanoseconds;
    backlog_ns_[best.at] += known->nanoseconds;
  }
  return best;
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
