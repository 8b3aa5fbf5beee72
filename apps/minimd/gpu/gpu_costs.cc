#include "gpu/gpu_costs.h"

#include <cmath>
#include <numbers>

namespace md::costs {
namespace {

// One H200 (34 TFLOP/s): a step takes 0.200 ns an atom where rounds of blocks are full, lists 1.58 ms at 64^3 cells,
// all else of reneighbouring 0.3 ms.
constexpr double flops_of_pair = 88, flops_of_candidate = 34;
constexpr double metal_of_pairs = 9.4;  // both kernels of the embedded atom method: 663 M atom-steps/s, 128^3 cells
constexpr double sorted_bytes = 700, looked_at_bytes = 40, moved_bytes = 160;

double within(const model& m, double r) { return m.densest * 4.0 / 3.0 * std::numbers::pi * r * r * r; }

}  // namespace

imbrex::kernel_cost step(const model& m, std::uint64_t atoms) {
  double flops = static_cast<double>(atoms) * within(m, m.boxes.reach()) * flops_of_pair;
  if (m.embedded) flops *= metal_of_pairs / 2;  // each of the two kernels
  return {.bytes = 0, .flops = flops};
}

imbrex::kernel_cost lists(const model& m, std::uint64_t atoms) {
  // An atom is compared with those of its brick, and those around it within reach.
  const double candidates = m.densest * std::pow(std::cbrt(236 / m.densest) + 1.8 * m.boxes.reach(), 3);
  return {.bytes = 0, .flops = static_cast<double>(atoms) * candidates * flops_of_candidate};
}

imbrex::kernel_cost sort(std::uint64_t atoms) { return {.bytes = static_cast<double>(atoms) * sorted_bytes}; }
imbrex::kernel_cost look(std::uint64_t atoms) { return {.bytes = static_cast<double>(atoms) * looked_at_bytes}; }
imbrex::kernel_cost move(std::uint64_t atoms) { return {.bytes = static_cast<double>(atoms) * moved_bytes}; }

}  // namespace md::costs
