#include "imbrex/runtime/virtual_time/virtual_driver.h"

#include <string>
#include <utility>

#include "imbrex/runtime/rank/rank_run.h"
#include "imbrex/runtime/virtual_time/simulated_pe_devices.h"

namespace imbrex::detail {

std::unique_ptr<pe_devices> virtual_driver::open_devices() {
  const int n = job_.shape.gpus_per_rank;
  if (n == 0) return nullptr;
  std::vector<int> numbers, map;
  for (int i = 0; i < n; ++i) numbers.push_back(job_.shape.place_in_node(rank_) * n + i);
  const auto pes = static_cast<std::size_t>(job_.options.pes);
  if (const std::string& asked = job_.options.gpu_map; !asked.empty())
    map = parse_gpu_map(asked, static_cast<std::size_t>(n), pes);
  for (int i = 0; map.size() < pes; ++i) map.push_back(i * n / job_.options.pes);
  return std::make_unique<simulated_pe_devices>(job_.gpus, job_.shape.node_of(rank_), numbers, map);
}

void virtual_driver::take(rank_context& rank, std::function<void(std::size_t)> become) {
  for (std::size_t i = 0; i < rank.pes.size(); ++i) {
    pes_.push_back(std::make_unique<virtual_pe>(job_.time, *rank.pes[i], job_.costs(), [become, i] { become(i); }));
  }
}

void virtual_driver::run() {
  for (const auto& pe : pes_) pe->begin();
  ++job_.num_ready;
  job_.ranks.wait_until([this] { return job_.has_run; });
}

}  // namespace imbrex::detail
