#include "imbrex/balance/live/device_shares.h"

#include <algorithm>
#include <queue>
#include <tuple>

namespace imbrex {

namespace {

struct ends_later {
  bool operator()(const timed_operation& a, const timed_operation& b) const {
    return std::tie(a.end_ns, a.begin_ns, a.whose) > std::tie(b.end_ns, b.begin_ns, b.whose);
  }
};

}  // namespace

device_shares shares_of(std::vector<timed_operation>& operations, std::size_t num) {
  device_shares s;
  s.busy_ns.assign(num, 0);
  if (operations.empty()) return s;
  std::ranges::sort(operations, {}, &timed_operation::begin_ns);
  std::priority_queue<timed_operation, std::vector<timed_operation>, ends_later> wanted;
  const std::int64_t first = operations.front().begin_ns;
  std::int64_t told = first;  // until then it is known whose the device was
  auto next = operations.cbegin();
  while (next != operations.cend() || !wanted.empty()) {
    if (wanted.empty()) told = std::max(told, next->begin_ns);
    for (; next != operations.cend() && next->begin_ns <= told; ++next) wanted.push(*next);
    const timed_operation& running = wanted.top();
    const std::int64_t until = next != operations.cend() ? std::min(running.end_ns, next->begin_ns) : running.end_ns;
    if (until > told) {
      s.busy_ns[running.whose] += until - told;
      s.all_ns += until - told;
      told = until;
    }
    if (running.end_ns <= told) wanted.pop();
  }
  s.span_ns = told - first;
  return s;
}

}  // namespace imbrex
