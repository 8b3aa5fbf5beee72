#include "imbrex/virtual_time/gpu/kernel_model.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string_view>

#include "imbrex/base/error.h"

namespace imbrex {

namespace {
constexpr double bytes_of_unknown_thread = 24;  // two operands and a result, in double precision
constexpr double reserved_kb = 1;               // of shared memory, by the driver, for each block

/// How many blocks of a kernel run at once, by their shared memory; 0: that is no limit.
double blocks_at_once(const machine& m, const launch_shape& shape) {
  if (m.gpu.multiprocessors == 0 || m.gpu.shared_kb == 0 || shape.shared_bytes == 0) return 0;
  const double each = static_cast<double>(shape.shared_bytes) / 1024 + reserved_kb;
  return m.gpu.multiprocessors * std::max(1.0, std::floor(m.gpu.shared_kb / each));
}
}  // namespace

kernel_demand demand_of(const machine& m, simulation& all, const char* name, const launch_shape& shape,
                        const kernel_cost& said) {
  for (const double part : {said.bytes, said.flops}) {
    constexpr double most = 1e18;  // an exabyte: no kernel ends then
    if (!(part >= 0 && part <= most))
      throw usage_error(
          fmt::format("kernel '{}' was said to cost {} bytes and {} operations: give numbers from 0 to {:g}", name,
                      said.bytes, said.flops, most));
  }
  const double threads = static_cast<double>(shape.num_groups()) * static_cast<double>(shape.items_of_group());
  machine::kernel_facts facts;
  facts.bytes_of_thread = bytes_of_unknown_thread;
  if (const auto known = m.kernels.find(std::string_view(name)); known != m.kernels.end()) facts = known->second;
  kernel_cost cost = said;
  if (said.is_known()) {
    facts.us = 0;
  } else {
    cost = {facts.bytes_of_thread * threads, facts.flops_of_thread * threads};
  }
  const double noise = all.noise(m.noise.kernel);
  kernel_demand d;
  d.least_ns = static_cast<std::int64_t>(m.gpu.kernel_us * 1000 * noise);
  const double moving_ns = cost.bytes / (m.gpu.memory_gbs * facts.efficiency),
               computing_ns = cost.flops / (m.gpu.tflops * 1000);
  d.work_ns = noise * std::max(moving_ns, computing_ns);
  d.share = std::clamp(threads / m.gpu.filling_threads, 0.01, 1.0);
  if (const double at_once = blocks_at_once(m, shape); at_once > 0 && computing_ns > moving_ns) {
    d.share = std::min(1.0, static_cast<double>(shape.num_groups()) / at_once);
    d.round_ns = d.work_ns * at_once / static_cast<double>(shape.num_groups());
    return d;
  }
  d.work_ns += noise * facts.us * 1000 * d.share;  // alone it has no more than that share
  return d;
}

kernel_demand demand_of_pass(const machine& m, std::uint64_t bytes) {
  return {static_cast<std::int64_t>(m.gpu.kernel_us * 1000), static_cast<double>(bytes) / m.gpu.memory_gbs, 1};
}

}  // namespace imbrex
