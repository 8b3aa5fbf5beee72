#include "imbrex/object/load/element_times.h"

#include <algorithm>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "imbrex/object/collection/collection.h"

namespace imbrex {

void element_times::has_left(const actor& a) { times_.erase(&a); }

std::int64_t element_times::of(const element_base& e) const {
  const auto found = times_.find(&e);
  return found != times_.end() ? found->second : 0;
}

std::string element_times::describe(std::size_t most) const {
  std::vector<std::pair<std::int64_t, const actor*>> longest;
  longest.reserve(times_.size());
  for (const auto& [a, ns] : times_) longest.emplace_back(ns, a);
  const std::size_t shown = std::min(most, longest.size());
  std::ranges::partial_sort(longest, longest.begin() + static_cast<std::ptrdiff_t>(shown), std::greater<>());
  std::string text = fmt::format("{:.3f} ms in elements", static_cast<double>(total_ns_) / 1e6);
  for (std::size_t i = 0; i < shown; ++i) {
    const auto& e = static_cast<const element_base&>(*longest[i].second);
    text += fmt::format("{}{} {:.3f} ms", i == 0 ? ": " : ", ", e.part->text(e),
                        static_cast<double>(longest[i].first) / 1e6);
  }
  return text;
}

}  // namespace imbrex
