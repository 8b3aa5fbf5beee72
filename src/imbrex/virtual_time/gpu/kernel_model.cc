#include "imbrex/virtual_time/gpu/kernel_model.h"

#include <algorithm>
#include <string_view>

namespace imbrex {

namespace {
constexpr double bytes_of_unknown_thread = 24;  // two operands and a result, in double precision
}  // namespace

kernel_demand demand_of(const machine& m, simulation& all, const char* name, const launch_shape& shape,
                        const kernel_cost& said) {
  const double threads = static_cast<double>(shape.num_groups()) * static_cast<double>(shape.items_of_group());
  machine::kernel_facts facts;
  facts.bytes_of_thread = bytes_of_unknown_thread;
  if (const auto known = m.kernels.find(std::string_view(name)); known != m.kernels.end()) facts = known->second;
  kernel_cost cost = said;
  if (!said.is_known()) cost = {facts.bytes_of_thread * threads, facts.flops_of_thread * threads};
  const double noise = all.noise(m.noise.kernel);
  kernel_demand d;
  d.least_ns = static_cast<std::int64_t>(m.gpu.kernel_us * 1000 * noise);
  d.work_ns = noise * std::max(cost.bytes / (m.gpu.memory_gbs * facts.efficiency), cost.flops / (m.gpu.tflops * 1000));
  d.share = std::clamp(threads / m.gpu.filling_threads, 0.01, 1.0);
  d.work_ns += noise * facts.us * 1000 * d.share;  // alone it has no more than that share
  return d;
}

kernel_demand demand_of_pass(const machine& m, std::uint64_t bytes) {
  return {static_cast<std::int64_t>(m.gpu.kernel_us * 1000), static_cast<double>(bytes) / m.gpu.memory_gbs, 1};
}

}  // namespace imbrex
