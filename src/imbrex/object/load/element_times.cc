#include "imbrex/object/load/element_times.h"

#include <algorithm>
#include <functional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "imbrex/object/collection/collection.h"

namespace imbrex {

void element_times::has_left(const actor& a) {
  const auto found = times_.find(&a);
  if (found == times_.end()) return;
  if (num_left_ > 0) {
    const auto& e = static_cast<const element_base&>(a);
    left_[e.part->text(e)] += found->second;
    if (left_.size() >= 64 + 2 * num_left_) keep_the_longest_left();
  }
  times_.erase(found);
}

void element_times::keep_the_longest_left() {
  std::vector<std::int64_t> all;
  all.reserve(left_.size());
  for (const auto& [name, ns] : left_) all.push_back(ns);
  const auto last = all.begin() + static_cast<std::ptrdiff_t>(num_left_);
  std::ranges::nth_element(all, last, std::greater<>());
  std::erase_if(left_, [least = *last](const auto& e) { return e.second <= least; });
}

std::int64_t element_times::of(const element_base& e) const {
  const auto found = times_.find(&e);
  return found != times_.end() ? found->second : 0;
}

std::string element_times::describe(std::size_t most) const {
  std::unordered_map<std::string, std::int64_t> all = left_;
  for (const auto& [a, ns] : times_) {
    const auto& e = static_cast<const element_base&>(*a);
    all[e.part->text(e)] += ns;
  }
  std::vector<std::pair<std::int64_t, std::string>> longest;
  longest.reserve(all.size());
  for (const auto& [name, ns] : all) longest.emplace_back(ns, name);
  const std::size_t shown = std::min(most, longest.size());
  std::ranges::partial_sort(longest, longest.begin() + static_cast<std::ptrdiff_t>(shown), std::greater<>());
  std::string text = fmt::format("{:.3f} ms in elements", static_cast<double>(total_ns_) / 1e6);
  for (std::size_t i = 0; i < shown; ++i)
    text += fmt::format("{}{} {:.3f} ms", i == 0 ? ": " : ", ", longest[i].second,
                        static_cast<double>(longest[i].first) / 1e6);
  return text;
}

}  // namespace imbrex
