// Tasks of a graph whose parameters are known when the program runs.
#include "imbrex/object/distribution/untyped_graph_task.h"

#include <gmock/gmock.h>
#include <imbrex/task_graph.h>

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <span>
#include <vector>

#include "unit/object/job.h"

namespace untyped_graph_task_test {

using namespace imbrex;
using namespace imbrex_test;

namespace {

constexpr std::uint8_t host = task_node::on_the_host;
constexpr std::size_t n = 40;

std::span<long> numbers(std::byte* at) { return {reinterpret_cast<long*>(at), n}; }

void fill_all(task_graph& g, distributed<std::byte>& x) {
  for (int i = 0; i < x.extent().x; ++i) {
    submit_untyped(g, {.name = "fill"}, host, {{x(i), access_mode::write}},
                   [i](const untyped_call& c) { std::ranges::fill(numbers(c.objects[0]), i + 1); });
  }
}

/// Each gets its neighbour's, and their sum and the largest.
task<std::vector<std::byte>> neighbours(task_graph& g, int count) {
  distributed<std::byte> x(g, count, n * sizeof(long), map::round_robin{}), found(g, 2, n * sizeof(long));
  fill_all(g, x);
  const auto add = [](const untyped_call& c) {
    for (std::size_t i = 0; i < n; ++i) numbers(c.objects[1])[i] += numbers(c.objects[0])[i];
  };
  const auto keep_larger = [](const untyped_call& c) {
    for (std::size_t i = 0; i < n; ++i)
      numbers(c.objects[1])[i] = std::max(numbers(c.objects[1])[i], numbers(c.objects[0])[i]);
  };
  const untyped_graph_reduction sum{number_type::int64, element_operation::sum};
  const untyped_graph_reduction largest{number_type::int64, element_operation::max, 2};
  for (int i = 0; i < count; ++i) {
    submit_untyped(g, {.name = "add"}, host, {{x(i), access_mode::read}, {x((i + 1) % count), access_mode::read_write}},
                   add);
  }
  for (int i = 0; i < count; ++i) {
    submit_untyped(g, {.name = "sum"}, host, {{x(i), access_mode::read}, {found(0), access_mode::read_write, sum}},
                   add);
    submit_untyped(g, {.name = "largest"}, host,
                   {{x(i), access_mode::read}, {found(1), access_mode::read_write, largest}}, keep_larger);
  }
  // Another operation ends the one before; then it has what that gave.
  submit_untyped(g, {.name = "largest"}, host,
                 {{x(0), access_mode::read}, {found(0), access_mode::read_write, largest}}, keep_larger);
  std::vector<std::byte> both = co_await values(g, found(0));
  const std::vector<std::byte> second = co_await values(g, found(1));
  both.insert(both.end(), second.begin(), second.end());
  co_return both;
}

/// The greatest common divisor, of each rank's own that are equal.
class divisor final : public own_operation {
 public:
  std::span<const std::byte> identity() const override { return std::as_bytes(std::span(&zero_, 1)); }
  std::uint8_t runs_on() const override { return host; }
  std::function<void(const untyped_call&)> combining(std::size_t bytes) const override {
    EXPECT_EQ(bytes, n * sizeof(long));
    return [](const untyped_call& c) { take(c.objects[1], c.objects[0]); };
  }
  bool is(const own_operation& other) const override { return dynamic_cast<const divisor*>(&other) != nullptr; }
  static void take(std::byte* from, std::byte* into) {
    for (std::size_t i = 0; i < n; ++i) numbers(into)[i] = std::gcd(numbers(into)[i], numbers(from)[i]);
  }

 private:
  long zero_ = 0;
};

task<std::vector<std::byte>> divisors(task_graph& g, int count) {
  distributed<std::byte> x(g, count, n * sizeof(long), map::round_robin{}), found(g, 1, n * sizeof(long));
  for (int round = 0; round < 2; ++round) {  // the second time with what it has
    for (int i = 0; i < count; ++i) {
      submit_untyped(g, {.name = "fill"}, host, {{x(i), access_mode::write}},
                     [v = (i + 1) * (round == 0 ? 60L : 84L)](const untyped_call& c) {
                       std::ranges::fill(numbers(c.objects[0]), v);
                     });
      const untyped_graph_reduction own{.parts = 2, .own = std::make_shared<divisor>()};
      submit_untyped(g, {.name = "divide"}, host, {{x(i), access_mode::read}, {found(0), access_mode::write, own}},
                     [](const untyped_call& c) { divisor::take(c.objects[0], c.objects[1]); });
    }
    co_await g.done();
  }
  std::vector<std::byte> all = co_await values(g, found(0));
  co_return all;
}

task<int> compare(runtime& rt) {
  constexpr int count = 7;
  const std::vector<std::byte> found = co_await run_graph<&neighbours>(rt, count);
  std::vector<long> x;
  for (int i = 0; i < count; ++i) x.push_back(i + 1);
  for (std::size_t i = 0; i < count; ++i) x[(i + 1) % count] += x[i];
  const auto* const all = reinterpret_cast<const long*>(found.data());
  EXPECT_EQ(all[n - 1], std::accumulate(x.begin(), x.end(), 0L));
  EXPECT_EQ(all[n], *std::ranges::max_element(x));
  const std::vector<std::byte> common = co_await run_graph<&divisors>(rt, count);
  EXPECT_EQ(reinterpret_cast<const long*>(common.data())[n - 1], 12);
  co_return 0;
}

TEST(untyped_graph_task, gives_on_all_ranks_what_one_gives) {
  for (int ranks = 1; ranks <= 4; ++ranks) {
    for (std::uint64_t seed = 0; seed < 4; ++seed) {
      const job_shape s{.pes = 1 + static_cast<int>(seed % 2), .ranks = ranks, .seed = seed};
      EXPECT_EQ(run_job_with(s, &compare), 0) << to_text(s);
    }
  }
}

}  // namespace

}  // namespace untyped_graph_task_test
