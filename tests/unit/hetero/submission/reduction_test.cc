#include <gmock/gmock.h>

#include <cmath>
#include <random>
#include <vector>

#include "imbrex/base/error.h"
#include "imbrex/device/kernel/kernel_dialect.h"
#include "imbrex/object/reduction.h"
#include "unit/hetero/hetero_fixture.h"

namespace reduction_test {

using namespace imbrex;
using namespace imbrex_test;

namespace {

using out = std::span<double>;
using in = std::span<const double>;

struct add {
  void operator()(double& into, double&& from) const { into += from; }
};

std::vector<double> elements_of(hetero_pe& on, const hetero_object<double>& x) {
  std::vector<double> found;
  submit(*on.domain, {}, [&found](in v) { found.assign(v.begin(), v.end()); }, x);
  on.pe.run();
  return found;
}

auto add_to_all(double term) {
  return [term](out v) {
    for (double& x : v) x += term;
  };
}

TEST(reduction, is_combined_when_the_object_is_used_otherwise) {
  hetero_pe on;
  auto x = on.object<double>(3);
  for (int i = 1; i <= 20; ++i) submit(*on.domain, {}, add_to_all(i), reduce(x, add{}, 0.0));
  EXPECT_THAT(elements_of(on, x), testing::Each(210.0));
  // With what the object has now.
  for (int i = 1; i <= 3; ++i) submit(*on.domain, {}, add_to_all(i), reduce(x, add{}, 0.0));
  EXPECT_THAT(elements_of(on, x), testing::Each(216.0));
  submit(*on.domain, {}, add_to_all(1), reduce(x, add{}, 0.0));
  submit(*on.domain, {}, [](out v) { std::ranges::fill(v, 7.0); },
         write(x));  // that is overwritten
  EXPECT_THAT(elements_of(on, x), testing::Each(7.0));
}

TEST(reduction, into_a_slice_is_in_the_whole_though_nobody_has_the_slice_any_more) {
  hetero_pe on;
  auto x = on.object<double>(6);
  submit(*on.domain, {}, [](out v) { std::ranges::fill(v, 1.0); }, write(x));
  for (int i = 1; i <= 4; ++i) submit(*on.domain, {}, add_to_all(i), reduce(x.slice(2, 3), add{}, 0.0));
  EXPECT_THAT(elements_of(on, x), testing::ElementsAre(1, 1, 11, 11, 11, 1));
}

TEST(reduction, into_a_slice_of_which_each_task_has_a_handle_of_its_own_comes_into_the_whole) {
  hetero_pe on;
  auto x = on.object<double>(6);
  submit(*on.domain, {}, [](out v) { std::ranges::fill(v, 1.0); }, write(x));
  for (int i = 1; i <= 20; ++i) {
    submit(*on.domain, {}, add_to_all(i), reduce(x.slice(2, 3), add{}, 0.0));
    if (i % 5 == 0) on.pe.run();  // nobody has the slice, and no task uses it any more
  }
  on.pe.run();
  EXPECT_THAT(elements_of(on, x), testing::ElementsAre(1, 1, 211, 211, 211, 1));
}

TEST(reduction, tasks_do_not_wait_for_each_other_up_to_its_width) {
  hetero_pe on;
  auto x = on.object<double>(1);
  for (int i = 0; i < 12; ++i) submit(*on.domain, {}, add_to_all(1), reduce(x, add{}, 0.0).over(5));
  std::vector<hetero_task> all;
  for (int i = 0; i < 6; ++i) all.push_back(submit(*on.domain, {}, add_to_all(1), reduce(x, sum).over(3)));
  on.pe.run();
  EXPECT_THAT(elements_of(on, x), testing::ElementsAre(18.0));
}

TEST(reduction, knows_the_identity_of_built_in_operations) {
  hetero_pe on;
  auto least = on.object<double>(1), most = on.object<double>(1), product_of = on.object<double>(1);
  auto bits = on.object<unsigned>(1);
  for (int i = 1; i <= 10; ++i) {
    submit(*on.domain, {}, [i](out v) { v[0] = std::min(v[0], 3.0 + i); }, reduce(least, imbrex::min));
    submit(*on.domain, {}, [i](out v) { v[0] = std::max(v[0], -3.0 - i); }, reduce(most, imbrex::max));
    submit(*on.domain, {}, [](out v) { v[0] *= 2; }, reduce(product_of, product));
    submit(*on.domain, {}, [i](std::span<unsigned> v) { v[0] &= ~(1U << i); }, reduce(bits, bit_and));
  }
  EXPECT_THAT(elements_of(on, least), testing::ElementsAre(4.0));
  EXPECT_THAT(elements_of(on, most), testing::ElementsAre(-4.0));
  EXPECT_THAT(elements_of(on, product_of), testing::ElementsAre(1024.0));
  unsigned found = 0;
  submit(*on.domain, {}, [&found](std::span<const unsigned> v) { found = v[0]; }, bits);
  on.pe.run();
  EXPECT_EQ(found, ~0x7feU);
}

/// The same bits wherever tasks run and in whatever order: of numbers whose sum depends on the order.
std::vector<double> sum_of_random_terms(int num_devices, unsigned seed) {
  hetero_pe on(num_devices, 1 << 12);
  on.pe.queue.set_schedule_seed(seed);
  std::mt19937 terms(7), random(seed);
  auto x = on.object<double>(16);
  for (int i = 0; i < 200; ++i) {
    const double term =
        std::ldexp(1.0 + static_cast<double>(terms() % 1000) / 999, static_cast<int>(terms() % 60) - 30);
    const task_options o{.priority = static_cast<int>(random() % 4)};
    if (num_devices > 0 && random() % 2 == 0) {
      submit(*on.domain, o, add_on_device(term), reduce(x, sum));
    } else {
      submit(*on.domain, o, add_to_all(term), reduce(x, sum));
    }
    if (random() % 20 == 0) on.pe.run();
  }
  return elements_of(on, x);
}

TEST(reduction, has_the_same_bits_in_every_order_and_everywhere) {
  const std::vector<double> expected = sum_of_random_terms(0, 1);
  for (unsigned seed = 2; seed < 12; ++seed) {
    EXPECT_EQ(sum_of_random_terms(0, seed), expected);
    EXPECT_EQ(sum_of_random_terms(2, seed), expected);
  }
}

/// By tasks of devices into parts that never leave them.
template <class T, class Op>
void check_on_devices(Op op, T identity, T first, const std::vector<T>& terms) {
  constexpr std::size_t size = 1000;
  hetero_pe on(3);
  auto x = on.object<T>(size);
  std::vector<T> expected(size, first);
  submit(*on.domain, {}, [first](std::span<T> v) { std::ranges::fill(v, first); }, write(x));
  for (std::size_t i = 0; i < terms.size(); ++i) {
    const auto add_there = [op, term = terms[i]](stream& s, std::span<T> v) {
      s.call("add", [op, term, v] {
        for (T& e : v) op(e, T(term));
      });
    };
    submit(*on.domain, {.on = device_kind::host, .number = static_cast<int>(i % 3)}, add_there,
           reduce(x, op, identity).over(6));
    for (T& e : expected) op(e, T(terms[i]));
  }
  on.pe.run();
  const std::uint64_t to_devices = on.counts().bytes_to_devices;
  submit(*on.domain, {.on = device_kind::host, .number = 1}, [](stream&, std::span<const T>) {}, x);
  on.pe.run();
  EXPECT_EQ(on.counts().bytes_to_host, 0) << "parts were combined on the host";
  EXPECT_EQ(on.counts().bytes_to_devices - to_devices, size * sizeof(T)) << "what there was";
  std::vector<T> found;
  submit(*on.domain, {}, [&found](std::span<const T> v) { found.assign(v.begin(), v.end()); }, x);
  on.pe.run();
  EXPECT_EQ(found, expected);
}

TEST(reduction, is_combined_on_devices_that_have_the_parts) {
  const auto check = []<class T>(T) {
    const std::vector<T> terms{5, 7, 1, 12, 3, 9, 2, 8};
    check_on_devices<T>(imbrex::sum, 0, 4, terms);
    check_on_devices<T>(imbrex::product, 1, 1, {2, 3, 1, 2, 1, 3});
    check_on_devices<T>(imbrex::min, imbrex::min_op::identity<T>(), 4, terms);
    check_on_devices<T>(imbrex::max, imbrex::max_op::identity<T>(), 4, terms);
    if constexpr (std::is_integral_v<T>) {
      check_on_devices<T>(imbrex::bit_and, imbrex::bit_and_op::identity<T>(), 15, terms);
      check_on_devices<T>(imbrex::bit_or, 0, 4, terms);
      check_on_devices<T>(imbrex::bit_xor, 0, 4, terms);
    }
  };
  check(int{}), check(unsigned{}), check(long{}), check(0UL), check(float{}), check(double{});
}

struct farther {
  void operator()(float& into, float&& from) const { into = std::abs(from) > std::abs(into) ? from : into; }
};

IX_INLINE_KERNEL_BELOW(farther_on_devices, (int n, IX_GLOBAL float* into, IX_GLOBAL const float* from), n,
                       into[i] = fabs(from[i]) > fabs(into[i]) ? from[i] : into[i]);

TEST(reduction, is_combined_on_devices_by_a_kernel_of_the_programs) {
  hetero_pe on(2);
  auto x = on.object<float>(10);
  for (int i = 0; i < 5; ++i) {
    const auto set = [i](stream& s, std::span<float> v) {
      s.call("set", [i, v] { farther{}(v[3], static_cast<float>(i == 2 ? -9 : i)); });
    };
    submit(*on.domain, {}, set, reduce(x, farther{}, 0.0F).over(3).by(farther_on_devices));
  }
  submit(*on.domain, {.on = device_kind::host, .number = 0}, [](stream&, std::span<const float>) {}, x);
  on.pe.run();
  EXPECT_EQ(on.counts().bytes_to_host, 0);
  float found = 0;
  submit(*on.domain, {}, [&found](std::span<const float> v) { found = v[3]; }, x);
  on.pe.run();
  EXPECT_EQ(found, -9);
}

TEST(reduction, into_a_tile_is_combined_on_devices) {
  hetero_pe on(2);
  hetero_grid<double> grid(*on.domain, {6, 5});
  submit(*on.domain, {}, [](std::span<double> v) { std::ranges::fill(v, 1.0); }, write(grid.object()));
  const auto tile = grid.tile({1, 2}, {3, 2});
  for (int i = 1; i <= 4; ++i) {
    const auto add_there = [i](stream& s, tile_view<double> v) {
      s.call("add", [i, v] {
        for (std::size_t y = 0; y < 2; ++y)
          for (std::size_t k = 0; k < 3; ++k) v(k, y) += i * static_cast<double>(k + 1);
      });
    };
    submit(*on.domain, {}, add_there, reduce(tile, imbrex::sum).over(2));
  }
  std::vector<double> found = elements_of(on, grid.object());
  for (std::size_t y = 0; y < 5; ++y) {
    for (std::size_t k = 0; k < 6; ++k) {
      const bool inside = k >= 1 && k < 4 && y >= 2 && y < 4;
      EXPECT_EQ(found[y * 6 + k], inside ? 1 + 10 * static_cast<double>(k) : 1) << k << ' ' << y;
    }
  }
}

TEST(reduction, into_parts_and_a_whole_are_ordered) {
  hetero_pe on(1);
  auto x = on.object<double>(4);
  submit(*on.domain, {}, [](out v) { std::ranges::fill(v, 1.0); }, write(x));
  auto front = x.slice(0, 2);
  submit(*on.domain, {}, add_to_all(1), reduce(front, sum));
  submit(*on.domain, {}, add_to_all(10), reduce(x, sum));
  EXPECT_THAT(elements_of(on, front), testing::ElementsAre(12.0, 12.0));
  submit(*on.domain, {}, add_to_all(100), reduce(front, sum));
  EXPECT_THAT(elements_of(on, x), testing::ElementsAre(112.0, 112.0, 11.0, 11.0));
}

TEST(reduction, in_a_window_is_part_of_it) {
  hetero_pe on;
  auto x = on.object<double>(1), y = on.object<double>(1);
  submit(*on.domain, {}, add_to_all(5), reduce(x, sum));
  const task_window w = record(*on.domain, [&] {
    submit(*on.domain, {}, [](out v) { v[0] = 1; }, write(y));
    for (int i = 0; i < 10; ++i) submit(*on.domain, {}, add_to_all(1), reduce(x, sum));
    for (int i = 0; i < 10; ++i) submit(*on.domain, {}, add_to_all(1), reduce(y, sum));
  });
  w.replay();
  w.replay();
  EXPECT_THAT(elements_of(on, x), testing::ElementsAre(25.0));
  EXPECT_THAT(elements_of(on, y), testing::ElementsAre(11.0));
}

TEST(reduction, in_a_window_that_is_given_up_leaves_nothing) {
  hetero_pe on;
  auto x = on.object<double>(1);
  submit(*on.domain, {}, add_to_all(5), reduce(x, sum));
  const auto throwing = [&] {
    submit(*on.domain, {}, add_to_all(1), reduce(x, sum));
    throw std::runtime_error("given up");
  };
  EXPECT_THROW(record(*on.domain, throwing), std::runtime_error);
  EXPECT_THAT(elements_of(on, x), testing::ElementsAre(5.0));
}

TEST(reduction, of_a_task_that_fails_is_worth_nothing) {
  hetero_pe on;
  auto x = on.object<double>(1);
  submit(*on.domain, {}, add_to_all(1), reduce(x, sum));
  submit(*on.domain, {.name = "bad"}, [](out) { throw std::runtime_error("no"); }, reduce(x, sum));
  const hetero_task reader = submit(*on.domain, {}, [](in) { FAIL(); }, x);
  on.pe.run();
  ASSERT_EQ(reader.state(), task_state::failed);
  EXPECT_THROW(throw_failure(*reader.node()), remote_error);
}

TEST(reduction, of_an_object_that_the_task_uses_besides_is_refused) {
  hetero_pe on;
  auto x = on.object<double>(6), y = on.object<double>(6);
  for (const auto& o : {x, y}) submit(*on.domain, {}, [](out v) { std::ranges::fill(v, 1.0); }, write(o));
  const auto both = [](out, out) { FAIL(); };
  const auto submit_both = [&](const auto& a, const auto& b) { submit(*on.domain, {.name = "both"}, both, a, b); };
  EXPECT_THAT([&] { submit_both(reduce(x, sum), x); },
              testing::ThrowsMessage<usage_error>(testing::HasSubstr(
                  "task 'both' reduces into the object of argument 0, and argument 1 is the same object or overlaps")));
  EXPECT_THROW(submit_both(x, reduce(x, sum)), usage_error);
  EXPECT_THROW(submit_both(write(x), reduce(x, sum)), usage_error);
  EXPECT_THROW(submit_both(reduce(x, sum), reduce(x, imbrex::max)), usage_error);
  EXPECT_THROW(submit_both(reduce(x, sum), reduce(x, sum)), usage_error);
  EXPECT_THROW(submit_both(reduce(x, add{}, 0.0), x.slice(1, 2)), usage_error);
  EXPECT_THROW(submit_both(x, reduce(x.slice(1, 2), sum)), usage_error);
  EXPECT_THROW(submit_both(reduce(x.slice(1, 2), sum), x.slice(2, 3)), usage_error);
  const auto with_kernel_of_reads = [](in, out) { FAIL(); };
  EXPECT_THROW(submit(*on.domain, {}, with_kernel_of_reads, x, reduce(x, sum)), usage_error);
  EXPECT_THROW(record(*on.domain, [&] { submit_both(reduce(x, sum), x); }), usage_error);
  hetero_grid<double> grid(*on.domain, {4, 4});
  const auto on_tiles = [](tile_view<double>, tile_view<double>) { FAIL(); };
  const auto of_grid = [&](const auto& a, const auto& b) { submit(*on.domain, {}, on_tiles, a, b); };
  EXPECT_THROW(of_grid(reduce(grid.tile({0, 0}, {2, 2}), sum), write(grid.tile({1, 1}, {2, 2}))), usage_error);
  EXPECT_THROW(of_grid(reduce(grid, sum), write(grid)), usage_error);
  // Others, and parts that have nothing in common, are all right.
  const auto add_to_both = [](out a, out b) { a[0] += 1, b[0] += 10; };
  submit(*on.domain, {}, add_to_both, reduce(x.slice(0, 2), sum), x.slice(2, 2));
  submit(*on.domain, {}, add_to_both, reduce(x.slice(4, 1), sum), reduce(y, sum));
  EXPECT_THAT(elements_of(on, x), testing::ElementsAre(2, 1, 11, 1, 2, 1));
  EXPECT_THAT(elements_of(on, y), testing::ElementsAre(11, 1, 1, 1, 1, 1));
}

TEST(reduction, whose_combining_failed_is_told_with_whoever_uses_the_object) {
  hetero_pe on;
  auto x = on.object<double>(1);
  const auto fails = [](double&, double&&) { throw std::runtime_error("no sum"); };
  for (int i = 0; i < 9; ++i) submit(*on.domain, {}, add_to_all(1), reduce(x, fails, 0.0));
  const hetero_task reader = submit(*on.domain, {}, [](in) { FAIL(); }, x);
  on.pe.run();
  ASSERT_EQ(reader.state(), task_state::failed);
  EXPECT_GT(on.domain->failures().size(), 1U);
  EXPECT_THROW(throw_failure(*reader.node()), remote_error);
  EXPECT_EQ(on.domain->failures().size(), 0U);
}

TEST(reduction, that_nobody_reads_goes_with_its_object) {
  hetero_pe on;
  {
    auto x = on.object<double>(1000);
    for (int i = 0; i < 20; ++i) submit(*on.domain, {}, add_to_all(1), reduce(x, sum));
    on.pe.run();
  }
  on.pe.run();
  EXPECT_EQ(on.domain->copies().num_objects(), 0U);
  EXPECT_EQ(on.memory.used().in_use, 0U);
}

TEST(reduction, refuses_what_makes_no_sense) {
  hetero_pe on, other;
  auto x = on.object<double>(1);
  EXPECT_THROW(reduce(x, sum).over(0), usage_error);
  EXPECT_THROW(submit(*other.domain, {}, add_to_all(1), reduce(x, sum)), usage_error);
}

}  // namespace

}  // namespace reduction_test
