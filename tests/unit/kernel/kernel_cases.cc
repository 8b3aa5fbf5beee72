#include "unit/kernel/kernel_cases.h"

#include <cstdint>

#include "imbrex/device/kernel/kernel_dialect.h"
// After the dialect.
#include "unit/kernel/cases.hk"
#include "unit/kernel/matrix.hk"
#include "unit/kernel/together.hk"

IX_INLINE_KERNEL(only_on_cpu, (int n, IX_GLOBAL int* x), if (i < n) x[i] = i);

namespace imbrex_test {

namespace {
template <class T>
std::vector<T> numbers(std::size_t n, T step) {
  std::vector<T> v(n);
  for (std::size_t i = 0; i < n; ++i) v[i] = static_cast<T>(i * 37 % 101) * step;
  return v;
}
}  // namespace

namespace {
std::vector<kernel_case> cases_together() {
  const auto bits = [](float v) { return imbrex::half(v).bits; };
  std::vector<std::uint16_t> halves;
  for (const float v : numbers<float>(500, 0.37F)) halves.push_back(bits(v * v));
  halves[3] = bits(1e9F), halves[4] = bits(-3e-7F), halves[5] = bits(6e-5F), halves[6] = bits(-65504.0F);
  const auto doubles = numbers<double>(720, 0.1);
  return {
      {&histogram,
       imbrex::launch_shape::over(1000, 96),
       {given::value(997), given::value(100), given::memory(numbers<int>(1000, 1)),
        given::memory(std::vector<unsigned>(100, 3))}},
      {&atomic_numbers,
       imbrex::launch_shape::over(1000, 128),
       {given::value(1000), given::memory(numbers<int>(1000, 1)), given::memory(std::vector<int>{50, 3, 5, 1}),
        given::memory(std::vector<long>{1, 2, 3, 4}), given::memory(std::vector<float>{1, 2, 3, 4}),
        given::memory(std::vector<double>{1, 2, 3, 4, 5})}},
      {&tickets,
       {.groups = {10}, .group = {50}},
       {given::memory(std::vector<int>{0}), given::memory(std::vector<int>(500))}},
      {&group_values,
       {.groups = {3}, .group = {240}},
       {given::memory(doubles), given::memory(std::vector<double>(720))}},
      {&group_values,
       {.groups = {1, 2, 6}, .group = {20, 1, 3}},
       {given::memory(doubles), given::memory(std::vector<double>(720))}},
      {&group_values, {.groups = {720}}, {given::memory(doubles), given::memory(std::vector<double>(720))}},
      {&group_values, {.group = {720}}, {given::memory(doubles), given::memory(std::vector<double>(720))}},
      {&compacted,
       {.groups = {5}, .group = {200}},
       {given::memory(numbers<int>(1000, 1)), given::memory(std::vector<int>(1000)),
        given::memory(std::vector<int>(5))}},
      {&compacted,
       {.groups = {50}, .group = {20}},
       {given::memory(numbers<int>(1000, 1)), given::memory(std::vector<int>(1000)),
        given::memory(std::vector<int>(50))}},
      {&corner,
       {.groups = {3, 2, 4}, .group = {8, 8, 2}},
       {given::value(19), given::value(14), given::value(7), given::value(24),
        given::memory(numbers<double>(24UL * 24 * 8, 0.3))}},
      {&fours,
       imbrex::launch_shape::over(100, 64),
       {given::value(97), given::memory(numbers<float>(400, 0.3F)), given::memory(numbers<int>(400, 3))}},
      {&halved,
       imbrex::launch_shape::over(500, 64),
       {given::value(490), given::value(0.3F), given::memory(halves), given::memory(std::vector<float>(500))}},
  };
}
}  // namespace

std::vector<kernel_case> all_cases() {
  const std::size_t n = 1000;
  const int count = static_cast<int>(n);
  const auto over_n = imbrex::launch_shape::over(n, 128);
  const auto doubles = numbers<double>(512, 0.1);
  std::vector<kernel_case> all{
      {&write_ids, {.groups = {3}, .group = {5}}, {given::memory(std::vector<int>(12UL * 15))}},
      {&write_ids, {.groups = {3, 2}, .group = {5, 4}}, {given::memory(std::vector<int>(12UL * 15 * 8))}},
      {&write_ids, {.groups = {3, 2, 4}, .group = {5, 4, 2}}, {given::memory(std::vector<int>(12UL * 15 * 8 * 8))}},
      {&saxpy,
       over_n,
       {given::value(count), given::value(0.3F), given::memory(numbers<float>(n, 0.7F)),
        given::memory(numbers<float>(n, 0.01F))}},
      {&scale_below, over_n, {given::value(count), given::value(1.1), given::memory(numbers<double>(1024, 0.3))}},
      {&pairs,
       imbrex::launch_shape::over(200, 64),
       {given::value(193), given::memory(numbers<double>(400, 0.7)), given::memory(numbers<double>(200, 1.0)),
        given::memory(numbers<float>(400, 0.3F))}},
      {&reverse_groups, {.groups = {7}, .group = {50}}, {given::memory(numbers<int>(350, 1))}},
      {&prefix_sum,
       {.groups = {4}, .group = {128}, .shared_bytes = 2 * 128 * sizeof(double)},
       {given::memory(doubles), given::memory(std::vector<double>(512))}},
      {&private_values,
       {.groups = {8}, .group = {64, 4}},
       {given::memory(doubles), given::memory(std::vector<double>(512UL * 4))}},
      {&private_arrays,
       {.groups = {6}, .group = {40}},
       {given::memory(numbers<int>(240, 7)), given::memory(std::vector<int>(240))}},
      {&items_of_their_own,
       imbrex::launch_shape::over(n, 64),
       {given::value(count), given::memory(numbers<int>(n, 1)), given::memory(std::vector<int>(n))}},
      {&streamed_rows,
       {.groups = {3, 2}, .group = {50, 4}, .shared_bytes = 200 * sizeof(double)},
       {given::value(117), given::value(121), given::memory(numbers<double>(121UL * 8, 0.7)),
        given::memory(numbers<double>(121UL * 8, 1.3))}},
      {&tiled_dgemm,
       {.groups = {4, 4}, .group = {16, 16}},
       {given::value(64), given::memory(numbers<double>(4096, 0.01)), given::memory(numbers<double>(4096, 0.3)),
        given::memory(std::vector<double>(4096))}},
      {&seven_points,
       {.groups = {2, 3, 4}, .group = {16, 4, 2}},
       {given::value(extents{20, 14, 10, 0.3}), given::memory(numbers<double>(2800, 0.01)),
        given::memory(numbers<double>(2800, 1.0))}},
  };
  const auto together = cases_together();
  all.insert(all.end(), together.begin(), together.end());
  return all;
}

kernel_case case_without_cuda() {
  return {&only_on_cpu, imbrex::launch_shape::over(10), {given::value(10), given::memory(std::vector<int>(10))}};
}

std::vector<given> run_case_on_cpu(const kernel_case& c) {
  std::vector<given> results = c.arguments;
  std::vector<void*> pointers(results.size()), places(results.size());
  for (std::size_t i = 0; i < results.size(); ++i) {
    pointers[i] = results[i].bytes.data();
    places[i] = results[i].is_memory ? &pointers[i] : pointers[i];
  }
  imbrex::run_on_cpu(*c.kernel, c.shape, places.data(), 0, c.shape.num_groups());
  return results;
}

}  // namespace imbrex_test
