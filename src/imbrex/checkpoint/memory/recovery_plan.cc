#include "imbrex/checkpoint/memory/recovery_plan.h"

#include <algorithm>
#include <functional>
#include <set>

#include <fmt/format.h>

namespace imbrex {

namespace {

/// Who is left of the ranks that made it, and whether these can restore the others.
recovery_plan plan_for(std::uint64_t number, const std::vector<std::vector<memory_part_facts>>& of_ranks) {
  recovery_plan plan;
  for (std::size_t now = 0; now < of_ranks.size(); ++now) {
    for (const memory_part_facts& f : of_ranks[now]) {
      if (f.number != number) continue;
      if (plan.parts.empty()) {
        plan.facts = f.facts;
        plan.parts.resize(static_cast<std::size_t>(f.facts.shape.num_ranks));
        plan.rank_now.resize(plan.parts.size(), -1);
      }
      plan.made_ago_ns = std::max(plan.made_ago_ns, f.made_ago_ns);
      plan.rank_now.at(static_cast<std::size_t>(f.rank)) = static_cast<std::int32_t>(now);
      for (std::size_t i = 0; i < f.layout.members.size(); ++i) {
        recovery_plan::part& p = plan.parts.at(static_cast<std::size_t>(f.layout.members[i]));
        p.group = f;
        p.file = f.files.at(i);
      }
    }
  }
  for (std::size_t r = 0; r < plan.parts.size(); ++r) {
    recovery_plan::part& p = plan.parts[r];
    p.is_lost = plan.rank_now[r] < 0;
    p.keeper = plan.rank_now[r];
    if (!p.is_lost) continue;
    const parity_layout& group = p.group.layout;
    int lost = 0;
    for (const std::int32_t m : group.members) lost += plan.now(m) < 0 ? 1 : 0;
    if (group.members.empty() || lost > group.num_parity) {
      plan.why_not = group.members.empty()
                         ? fmt::format("rank {} is lost with all that could restore its part", r)
                         : fmt::format("{} of the {} ranks of a group are lost, whose parity restores {}", lost,
                                       group.size(), group.num_parity);
      return plan;
    }
    // The next one of the group that is there: work is shared among them.
    for (int i = 1; p.keeper < 0; ++i)
      p.keeper =
          plan.now(group.members[static_cast<std::size_t>((group.place_of(static_cast<int>(r)) + i) % group.size())]);
  }
  plan.number = number;
  return plan;
}

}  // namespace

recovery_plan plan_recovery(const std::vector<std::vector<memory_part_facts>>& of_ranks) {
  std::set<std::uint64_t, std::greater<>> numbers;
  for (const auto& facts : of_ranks) {
    for (const memory_part_facts& f : facts) numbers.insert(f.number);
  }
  recovery_plan none;
  for (const std::uint64_t number : numbers) {
    recovery_plan plan = plan_for(number, of_ranks);
    if (plan.number != 0) return plan;
    if (none.why_not.empty()) none.why_not = plan.why_not;
  }
  return none;
}

}  // namespace imbrex
