#include "imbrex/device/rounds/round_nodes.h"

#include <algorithm>
#include <utility>

#include "imbrex/base/error.h"

namespace imbrex {

namespace {

/// Operations that are no waits, in [begin, end).
std::uint32_t count_work(const stream_rounds& s, std::size_t begin, std::size_t end) {
  return static_cast<std::uint32_t>(
      std::count_if(s.operations.begin() + static_cast<std::ptrdiff_t>(begin),
                    s.operations.begin() + static_cast<std::ptrdiff_t>(end),
                    [](const kept_operation& o) { return o.what != kept_operation::kind::wait; }));
}

}  // namespace

round_nodes::round_nodes(const recorded_rounds& r, const std::vector<std::size_t>& order) : rounds_(r), order_(order) {
  std::uint32_t next = 0;
  first_.resize(r.streams().size());
  for (std::size_t s = 0; s < first_.size(); ++s) {
    const stream_rounds& of = *r.streams()[s];
    for (const std::size_t round : order) {
      first_[s].push_back(next);
      next += count_work(of, of.begin_of(round), of.end_of(round));
    }
    first_[s].push_back(next);
  }
  nodes_.reserve(next);
  for (std::size_t s = 0; s < first_.size(); ++s) {
    carried_.clear();
    for (std::size_t i = 0; i < order.size(); ++i) add(s, i);
  }
  sort();
}

/// The stream's last operation before the `num_before`-th of a round.
std::uint32_t round_nodes::before(std::size_t stream, std::size_t round, std::size_t num_before) const {
  const std::vector<std::uint32_t>& first = first_[stream];
  const std::uint32_t end = first[round] + static_cast<std::uint32_t>(num_before);
  return end > first.front() ? end - 1 : none;
}

void round_nodes::add(std::size_t stream, std::size_t round) {
  const stream_rounds& s = *rounds_.streams()[stream];
  const std::size_t recorded = order_[round];
  std::vector<std::uint32_t> after = std::move(carried_);
  carried_.clear();
  const auto comes_after = [&after](std::uint32_t n) {
    if (n != none && std::ranges::find(after, n) == after.end()) after.push_back(n);
  };
  for (std::size_t i = s.begin_of(recorded); i < s.end_of(recorded); ++i) {
    const kept_operation& op = s.operations[i];
    if (op.what == kept_operation::kind::wait) {
      const stream_rounds& other = *rounds_.streams()[op.stream];
      const std::size_t theirs = other.round_of(op.place);
      const auto at = static_cast<std::ptrdiff_t>(round + theirs) - static_cast<std::ptrdiff_t>(recorded);
      if (at < 0) continue;  // what comes before all
      const bool is_end = at >= static_cast<std::ptrdiff_t>(order_.size());
      const std::size_t num_before = is_end ? 0 : count_work(other, other.begin_of(theirs), op.place);
      comes_after(before(op.stream, std::min(static_cast<std::size_t>(at), order_.size()), num_before));
      continue;
    }
    const auto number = static_cast<std::uint32_t>(nodes_.size());
    if (number > first_[stream].front()) comes_after(number - 1);
    nodes_.push_back({&op, &s, std::exchange(after, {})});
  }
  carried_ = std::move(after);
}

void round_nodes::sort() {
  std::vector<std::uint32_t> missing(nodes_.size());
  std::vector<std::vector<std::uint32_t>> following(nodes_.size());
  for (std::uint32_t n = 0; n < nodes_.size(); ++n) {
    missing[n] = static_cast<std::uint32_t>(nodes_[n].after.size());
    for (const std::uint32_t a : nodes_[n].after) following[a].push_back(n);
    if (missing[n] == 0) sorted_.push_back(n);
  }
  for (std::size_t i = 0; i < sorted_.size(); ++i) {
    for (const std::uint32_t n : following[sorted_[i]]) {
      nodes_[n].depth = std::max(nodes_[n].depth, nodes_[sorted_[i]].depth + 1);
      if (--missing[n] == 0) sorted_.push_back(n);
    }
  }
  if (sorted_.size() != nodes_.size())
    throw usage_error("rounds that are repeated wait for each other in a circle: each must end before the next");
}

}  // namespace imbrex
