#include "imbrex/balance/live/load_history.h"

#include <algorithm>
#include <cmath>

namespace imbrex {

void load_estimate::add(double measured) {
  const double off = std::abs(measured - mean_);
  const bool changed = off > surprise * std::max(deviation_, usual * mean_);
  mean_ = changed ? measured : mean_ + weight * (measured - mean_);
  deviation_ += deviation_weight * (off - deviation_);
}

void load_history::smooth(element_loads& loads) {
  ++look_;
  std::unordered_map<pe_id, double> interval_of;
  for (const measured_pe& p : loads.pes)
    interval_of[p.pe] = static_cast<double>(std::max<std::int64_t>(p.interval_ns, 1));
  for (element_load& l : loads.all) {
    const double interval = interval_of.at(l.pe);
    const double host = static_cast<double>(l.host_ns) / interval, gpu = static_cast<double>(l.gpu_ns) / interval;
    const auto [at, is_new] =
        known_.try_emplace(l.identity, element_history{load_estimate(host), load_estimate(gpu), look_});
    element_history& h = at->second;
    h.seen = look_;
    if (is_new) continue;
    h.host.add(host);
    h.gpu.add(gpu);
    l.host_ns = static_cast<std::int64_t>(h.host.value() * interval);
    l.gpu_ns = static_cast<std::int64_t>(h.gpu.value() * interval);
  }
  std::erase_if(known_, [this](const auto& k) { return look_ - k.second.seen > remembered; });
}

}  // namespace imbrex
