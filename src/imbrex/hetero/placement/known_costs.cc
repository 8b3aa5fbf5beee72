#include "imbrex/hetero/placement/known_costs.h"

#include <algorithm>
#include <utility>

namespace imbrex {

known_costs::kind& known_costs::kind_of(const task_node& t) {
  const int size = cost_model::size_of(t);
  const auto found =
      std::ranges::find_if(kinds_, [&](const kind& k) { return k.name == t.wishes.name && k.size == size; });
  if (found == kinds_.end()) return kinds_.emplace_back(kind{t.wishes.name, size, {}});
  if (found != kinds_.begin()) std::swap(*found, kinds_.front());
  return kinds_.front();
}

known_costs::entry& known_costs::entry_of(const task_node& t, const place& p) {
  kind& k = kind_of(t);
  const auto number = static_cast<std::size_t>(p.number());
  if (k.at.size() <= number) k.at.resize(number + 1);
  return k.at[number];
}

double known_costs::estimate(const task_node& t, const place& p) {
  entry& e = entry_of(t, p);
  if (e.known != nullptr) return e.known->nanoseconds;
  const cost_model::key key = cost_model::key_of(t, p);
  e.known = model_->find(key);
  return e.known != nullptr ? e.known->nanoseconds : model_->estimate(key);
}

}  // namespace imbrex
