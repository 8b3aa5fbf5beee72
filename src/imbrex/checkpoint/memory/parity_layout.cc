#include "imbrex/checkpoint/memory/parity_layout.h"

#include <algorithm>
#include <map>
#include <tuple>

namespace imbrex {

std::vector<std::vector<std::int32_t>> parity_groups(const std::vector<int>& host_of_rank, int size) {
  const std::size_t n = host_of_rank.size();
  // Row by row: the first ranks of all hosts, then the second ones. As many neighbours as there are hosts are on
  // different ones.
  std::map<int, int> seen;
  std::vector<std::tuple<int, int, std::int32_t>> order;  // turn within the host, host, rank
  order.reserve(n);
  for (std::size_t r = 0; r < n; ++r)
    order.emplace_back(seen[host_of_rank[r]]++, host_of_rank[r], static_cast<std::int32_t>(r));
  std::ranges::sort(order);
  const std::size_t hosts = seen.size();
  std::size_t wanted = std::max<std::size_t>(static_cast<std::size_t>(size), 2);
  if (hosts > 1) wanted = std::min(wanted, hosts);
  const std::size_t num_groups = std::max<std::size_t>(n / wanted, 1);
  std::vector<std::vector<std::int32_t>> groups(num_groups);
  std::size_t next = 0;
  for (std::size_t g = 0; g < num_groups; ++g) {
    const std::size_t end = n * (g + 1) / num_groups;
    for (; next < end; ++next) groups[g].push_back(std::get<2>(order[next]));
    std::ranges::sort(groups[g]);
  }
  return groups;
}

int parity_layout::place_of(std::int32_t rank) const {
  const auto found = std::ranges::find(members, rank);
  return found == members.end() ? -1 : static_cast<int>(found - members.begin());
}

parity_layout::block parity_layout::block_of(int place, int stripe) const {
  const int d = wrapped(place - stripe);
  if (d < num_parity) return {-1, d, num_data() + d};
  return {d - num_parity, -1, d - num_parity};
}

void parity_layout::fit(std::uint64_t largest_part) {
  constexpr std::uint64_t line = 64;
  const auto k = static_cast<std::uint64_t>(std::max(num_data(), 1));
  segment_bytes = ((largest_part + k - 1) / k + line - 1) / line * line;
}

parity_layout::range parity_layout::in_segment(int segment, std::uint64_t offset, std::uint64_t bytes,
                                               std::uint64_t part_bytes) const {
  const std::uint64_t first = static_cast<std::uint64_t>(segment) * segment_bytes;
  const std::uint64_t begin = std::min(first + std::min(offset, segment_bytes), part_bytes);
  const std::uint64_t end = std::min(std::min(first + segment_bytes, begin + bytes), part_bytes);
  return {begin, end > begin ? end - begin : 0};
}

}  // namespace imbrex
