#include "imbrex/checkpoint/memory/rank_memory.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "imbrex/base/clock.h"
#include "imbrex/base/serialize.h"

namespace imbrex {

void rank_memory::begin_run(transport* t, std::vector<int> hosts) {
  ++num_runs;
  host_of_rank = std::move(hosts);
  forget_contents();
  const std::vector<memory_part_facts> mine = store.facts(now_ns());
  std::vector<std::vector<memory_part_facts>> all;
  if (t == nullptr || t->num_ranks() == 1) {
    all.push_back(mine);
  } else {
    for (const auto& bytes : t->all_gather(to_bytes(mine))) from_bytes(bytes, all.emplace_back());
  }
  plan = plan_recovery(all);
  store.keep_only(plan.number);
}

void rank_memory::share_with_new_ranks(transport& t) {
  const std::vector<std::byte> mine = to_bytes(std::tuple(num_runs, next_pes));
  num_replaced = 0;
  for (const auto& bytes : t.all_gather(mine)) {
    std::tuple<int, int> theirs;
    from_bytes(bytes, theirs);
    if (std::get<0>(theirs) == 0) ++num_replaced;
    num_runs = std::max(num_runs, std::get<0>(theirs));
    next_pes = std::max(next_pes, std::get<1>(theirs));
  }
}

void rank_memory::forget_contents() {
  own_contents.clear();
  contents.clear();
  records.clear();
}

parity_layout rank_memory::group_of(std::int32_t rank) const {
  parity_layout layout;
  for (std::vector<std::int32_t>& g : parity_groups(host_of_rank, group_size)) {
    if (std::ranges::find(g, rank) != g.end()) layout.members = std::move(g);
  }
  layout.num_parity = std::min(num_parity, layout.size() - 1);
  return layout;
}

}  // namespace imbrex
