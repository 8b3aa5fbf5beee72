#include <gmock/gmock.h>

#include <numeric>

#include "imbrex/base/error.h"
#include "unit/hetero/hetero_fixture.h"

namespace slices_test {

using namespace imbrex;
using namespace imbrex_test;

namespace {

hetero_object<double> counting(hetero_pe& on, std::size_t size) {
  auto x = on.object<double>(size);
  submit(*on.domain, {}, [](std::span<double> v) { std::iota(v.begin(), v.end(), 0.0); }, write(x));
  return x;
}

std::vector<double> values(hetero_pe& on, const hetero_object<double>& x) {
  std::vector<double> all;
  submit(*on.domain, {}, [&all](std::span<const double> v) { all.assign(v.begin(), v.end()); }, x);
  on.pe.run();
  return all;
}

auto set_on_device(double value) {
  return
      [value](stream& s, std::span<double> x) { s.call("set", [x, value] { std::fill(x.begin(), x.end(), value); }); };
}

TEST(slices, see_the_whole_and_the_whole_sees_them) {
  for (const int devices : {0, 1, 2}) {
    hetero_pe on(devices);
    auto x = counting(on, 8);
    const auto front = x.slice(0, 3), back = x.slice(5, 3);
    EXPECT_EQ(back.size(), 3);
    EXPECT_THAT(values(on, back), testing::ElementsAre(5, 6, 7));
    if (devices == 0) {
      submit(*on.domain, {}, [](std::span<double> v) { v[0] += 100; }, front);
      submit(*on.domain, {}, [](std::span<double> v) { v[2] += 200; }, back);
    } else {
      submit(*on.domain, {}, [](stream& s, std::span<double> v) { s.call("a", [v] { v[0] += 100; }); }, front);
      submit(
          *on.domain, {.on = device_kind::host, .number = devices - 1},
          [](stream& s, std::span<double> v) { s.call("b", [v] { v[2] += 200; }); }, back);
    }
    EXPECT_THAT(values(on, x), testing::ElementsAre(100, 1, 2, 3, 4, 5, 6, 207));
    submit(*on.domain, {}, [](std::span<double> v) { v[1] = -1; }, x);
    EXPECT_THAT(values(on, front), testing::ElementsAre(100, -1, 2));
  }
}

TEST(slices, that_do_not_overlap_are_independent) {
  hetero_pe on;
  auto x = counting(on, 8);
  on.pe.run();
  const auto front = x.slice(0, 4), back = x.slice(4, 4);
  std::vector<int> order;
  submit(*on.domain, {.priority = 0}, [&order](std::span<double>) { order.push_back(0); }, front);
  submit(*on.domain, {.priority = 1}, [&order](std::span<double>) { order.push_back(1); }, back);
  submit(*on.domain, {.priority = 2}, [&order](std::span<double>) { order.push_back(2); }, x);
  submit(*on.domain, {.priority = 4}, [&order](std::span<const double>) { order.push_back(3); }, back);
  submit(*on.domain, {.priority = 3}, [&order](std::span<const double>) { order.push_back(4); }, x);
  on.pe.run();
  EXPECT_THAT(order, testing::ElementsAre(1, 0, 2, 3, 4));
}

TEST(slices, go_only_where_they_are_used) {
  hetero_pe on(2);
  auto x = counting(on, 1000);
  const auto front = x.slice(0, 500), back = x.slice(500, 500);
  for (int i = 0; i < 3; ++i) {
    submit(*on.domain, {.on = device_kind::host, .number = 0}, add_on_device(1), front);
    submit(*on.domain, {.on = device_kind::host, .number = 1}, add_on_device(2), back);
  }
  on.pe.run();
  EXPECT_EQ(on.counts().bytes_to_devices, 8000);
  EXPECT_EQ(on.domain->places()[1]->used(), 4000);
  EXPECT_EQ(on.domain->places()[2]->used(), 4000);
  const auto all = values(on, x);
  EXPECT_EQ(all[499], 502);
  EXPECT_EQ(all[500], 506);
  EXPECT_EQ(on.counts().bytes_to_host, 8000);
  EXPECT_EQ(on.counts().bytes_between, 0);
  values(on, x);
  EXPECT_EQ(on.counts().bytes_moved(), 16000);
}

TEST(slices, of_a_whole_at_a_device_are_taken_there) {
  hetero_pe on(1);
  auto x = counting(on, 100);
  submit(*on.domain, {}, add_on_device(1), x);
  const auto part = x.slice(10, 10);
  submit(*on.domain, {}, add_on_device(1), part);
  submit(*on.domain, {}, add_on_device(1), x);
  on.pe.run();
  EXPECT_EQ(on.counts().bytes_moved(), 800);
  EXPECT_EQ(values(on, x)[15], 18);
}

TEST(slices, may_be_all_that_defines_an_object) {
  hetero_pe on(1);
  auto x = on.object<double>(6);
  const auto a = x.slice(0, 2), b = x.slice(2, 2), c = x.slice(4, 2);
  submit(*on.domain, {}, set_on_device(1), write(a));
  submit(*on.domain, {}, set_on_device(3), write(c));
  EXPECT_THROW(submit(*on.domain, {}, [](std::span<const double>) {}, x), usage_error);
  EXPECT_THROW(submit(*on.domain, {}, [](std::span<const double>) {}, b), usage_error);
  EXPECT_THROW(submit(*on.domain, {}, [](std::span<const double>) {}, x.slice(1, 3)), usage_error);
  submit(*on.domain, {}, [](std::span<double> v) { v[0] = v[1] = 2; }, write(b));
  EXPECT_THAT(values(on, x), testing::ElementsAre(1, 1, 2, 2, 3, 3));
}

TEST(slices, live_on_in_the_whole) {
  hetero_pe on(2);
  auto x = counting(on, 64);
  for (int round = 0; round < 3; ++round) {
    for (std::size_t i = 0; i < 16; ++i) {
      submit(*on.domain, {.on = device_kind::host, .number = static_cast<int>(i % 2)}, add_on_device(1),
             x.slice(4 * i, 4));
    }
    // Others that overlap with them, which are gone.
    for (std::size_t i = 0; i < 15; ++i) submit(*on.domain, {}, add_on_device(1), x.slice(4 * i + 2, 4));
  }
  const auto all = values(on, x);
  for (std::size_t i = 0; i < 64; ++i) EXPECT_EQ(all[i], static_cast<double>(i) + (i < 2 || i >= 62 ? 3 : 6)) << i;
  x.release();
  EXPECT_EQ(on.memory.used().in_use, 0);
}

TEST(slices, lie_in_the_memory_of_the_whole_on_the_host) {
  for (const int devices : {0, 1, 2}) {
    hetero_pe on(devices);
    constexpr std::size_t n = 8192;
    auto x = on.object<double>(n);
    const double* at = nullptr;
    auto fill = [&at](std::span<double> v) {
      at = v.data();
      std::fill(v.begin(), v.end(), 1.0);
    };
    submit(*on.domain, {}, fill, write(x));
    on.pe.run();
    const std::uint64_t used = on.domain->places()[0]->used();
    for (std::size_t i = 0; i < 8; ++i) {
      auto add = [&at, i](std::span<double> v) {
        EXPECT_EQ(v.data(), at + i * (n / 8));
        for (double& e : v) e += static_cast<double>(i);
      };
      submit(*on.domain, {}, add, x.slice(i * n / 8, n / 8));
    }
    on.pe.run();
    EXPECT_EQ(on.domain->places()[0]->used(), used);
    submit(
        *on.domain, {},
        [](std::span<const double> v) {
          for (std::size_t i = 0; i < n; ++i) ASSERT_EQ(v[i], 1 + static_cast<double>(i / (n / 8)));
        },
        x);
    on.pe.run();
    EXPECT_EQ(on.counts().bytes_moved(), 0);
  }
}

TEST(slices, that_are_newest_on_the_host_stay_when_the_whole_comes) {
  hetero_pe on(1);
  auto x = counting(on, 100);
  submit(*on.domain, {}, add_on_device(1), x);
  submit(*on.domain, {}, [](std::span<double> v) { std::fill(v.begin(), v.end(), -1.0); }, write(x.slice(20, 10)));
  submit(*on.domain, {}, [](std::span<double> v) { std::fill(v.begin(), v.end(), -2.0); }, write(x.slice(30, 20)));
  submit(*on.domain, {}, [](std::span<double> v) { std::fill(v.begin(), v.end(), -3.0); }, write(x.slice(90, 10)));
  on.pe.run();
  EXPECT_EQ(on.counts().bytes_moved(), 800);
  const auto all = values(on, x);
  EXPECT_EQ(on.counts().bytes_to_host, 480);  // [0, 20) and [50, 90)
  for (std::size_t i = 0; i < 100; ++i) {
    const double expected = i < 20 || (i >= 50 && i < 90) ? static_cast<double>(i + 1) : i < 30 ? -1 : i < 50 ? -2 : -3;
    EXPECT_EQ(all[i], expected) << i;
  }
}

TEST(slices, that_the_whole_has_on_the_host_are_not_written_there_again) {
  hetero_pe on(1);
  auto x = counting(on, 100);
  auto part = x.slice(20, 10);
  submit(*on.domain, {}, add_on_device(1), part);
  const auto sum = [](double& to) {
    return [&to](std::span<const double> v) { to = std::reduce(v.begin(), v.end()); };
  };
  double of_whole = 0, of_slice = 0;
  submit(*on.domain, {}, sum(of_whole), x);
  on.pe.run();
  const std::uint64_t bytes = on.counts().bytes_moved();
  submit(*on.domain, {}, sum(of_slice), part);  // others may be reading the whole
  on.pe.run();
  EXPECT_EQ(on.counts().bytes_moved(), bytes);
  EXPECT_EQ(of_whole, 4950 + 10);
  EXPECT_EQ(of_slice, 245 + 10);
}

TEST(slices, come_before_the_whole_has_memory) {
  hetero_pe on;
  auto x = on.object<double>(4);
  for (std::size_t i = 0; i < 4; ++i) {
    submit(*on.domain, {}, [i](std::span<double> v) { v[0] = static_cast<double>(i); }, write(x.slice(i, 1)));
  }
  std::vector<double> seen;
  submit(*on.domain, {}, [&seen](std::span<const double> v) { seen.assign(v.begin(), v.end()); }, x);
  on.pe.run();
  EXPECT_EQ(seen, (std::vector<double>{0, 1, 2, 3}));
}

TEST(slices, keep_the_whole_alive) {
  hetero_pe on(1);
  hetero_object<double> part = counting(on, 10).slice(3, 2);
  EXPECT_THAT(values(on, part), testing::ElementsAre(3, 4));
  part.release();
  EXPECT_EQ(on.memory.used().in_use, 0);
}

TEST(slices, of_slices_and_of_everything) {
  hetero_pe on;
  auto x = counting(on, 10);
  const auto part = x.slice(2, 6);
  EXPECT_EQ(part.slice(1, 3).data(), x.slice(3, 3).data());
  EXPECT_EQ(x.slice(0, 10).data(), x.data());
  EXPECT_EQ(part.slice(0, 6).data(), part.data());
  EXPECT_THROW(x.slice(8, 3), usage_error);
  EXPECT_THROW(x.slice(11, 1), usage_error);
  EXPECT_THROW(x.slice(1, 0), usage_error);
}

TEST(slices, that_overlap_are_not_used_by_one_task_that_writes) {
  hetero_pe on;
  auto x = counting(on, 10);
  const auto a = x.slice(0, 6);
  const auto b = x.slice(4, 6);
  submit(*on.domain, {}, [](std::span<const double>, std::span<const double>) {}, a, b);
  const auto text = [&](auto&& f) -> std::string {
    try {
      f();
    } catch (const usage_error& e) {
      return e.what();
    }
    return "nothing was thrown";
  };
  const auto both = testing::AllOf(testing::HasSubstr("[0, 6)"), testing::HasSubstr("[4, 10)"));
  EXPECT_THAT(text([&] { submit(*on.domain, {}, [](std::span<double>, double*) {}, a, b); }), both);
  EXPECT_THAT(text([&] { submit(*on.domain, {}, [](std::span<double>, const double*) {}, a, b); }), both);
  EXPECT_THAT(text([&] { submit(*on.domain, {}, [](const double*, double*) {}, x, b); }),
              testing::AllOf(testing::HasSubstr("[0, 10)"), testing::HasSubstr("[4, 10)")));
  on.pe.run();
  EXPECT_EQ(on.domain->num_outstanding(), 0);
}

/// Blocks of a line and each with its neighbours' nearest elements, on two devices and the host.
TEST(slices, that_overlap_are_brought_from_where_each_part_is_newest) {
  for (const int devices : {0, 1, 2}) {
    hetero_pe on(devices);
    constexpr std::size_t blocks = 6, size = 50, n = blocks * size;
    auto old_line = counting(on, n), new_line = on.object<double>(n);
    submit(*on.domain, {}, [](std::span<double> v) { std::ranges::fill(v, 0.0); }, write(new_line));
    std::vector<double> expected(n);
    std::iota(expected.begin(), expected.end(), 0.0);
    const auto smooth = [](std::span<const double> from, std::span<double> to, std::size_t skip) {
      for (std::size_t i = 0; i < to.size(); ++i) {
        const std::size_t at = i + skip, left = at == 0 ? 0 : at - 1, right = std::min(at + 1, from.size() - 1);
        to[i] = (from[left] + from[at] + from[right]) / 2;
      }
    };
    const auto there = [smooth](stream& s, std::span<const double> from, std::span<double> to, std::size_t skip) {
      s.call("smooth", [=] { smooth(from, to, skip); });
    };
    for (int step = 0; step < 9; ++step) {
      for (std::size_t b = 0; b < blocks; ++b) {
        const std::size_t first = b == 0 ? 0 : b * size - 1, last = std::min((b + 1) * size + 1, n);
        const auto with_halo = old_line.slice(first, last - first), block = new_line.slice(b * size, size);
        const std::size_t skip = b * size - first;
        if (devices > 0 && (b + static_cast<std::size_t>(step)) % 3 != 0) {
          submit(*on.domain, {}, there, with_halo, write(block), skip);
        } else {
          submit(*on.domain, {}, smooth, with_halo, write(block), skip);
        }
      }
      std::vector<double> next(n);
      smooth(expected, next, 0);
      expected = next;
      std::swap(old_line, new_line);
      if (step % 4 == 3) on.pe.run();
    }
    std::vector<double> found;
    submit(*on.domain, {}, [&found](std::span<const double> v) { found.assign(v.begin(), v.end()); }, old_line);
    on.pe.run();
    EXPECT_EQ(found, expected) << devices << " devices";
  }
}

TEST(slices, fail_with_the_whole_and_heal) {
  hetero_pe on;
  auto x = counting(on, 8);
  const auto a = x.slice(0, 4), b = x.slice(4, 4);
  submit(*on.domain, {}, [](std::span<double>) { throw std::runtime_error("broken"); }, a);
  const hetero_task other = submit(*on.domain, {}, [](std::span<const double>) {}, b);
  const hetero_task whole = submit(*on.domain, {}, [](std::span<const double>) {}, x);
  on.pe.run();
  EXPECT_EQ(other.state(), task_state::done);
  EXPECT_EQ(whole.state(), task_state::failed);
  const hetero_task late = submit(*on.domain, {}, [](std::span<const double>) {}, x);
  on.pe.run();
  EXPECT_EQ(late.state(), task_state::failed);
  submit(*on.domain, {}, [](std::span<double> v) { std::fill(v.begin(), v.end(), 1.0); }, write(a));
  EXPECT_THAT(values(on, x), testing::ElementsAre(1, 1, 1, 1, 4, 5, 6, 7));
  submit(*on.domain, {}, [](std::span<double>) { throw std::runtime_error("broken"); }, x);
  submit(*on.domain, {}, [](std::span<double> v) { std::fill(v.begin(), v.end(), 2.0); }, write(b));
  const hetero_task good = submit(*on.domain, {}, [](std::span<const double>) {}, b);
  const hetero_task bad = submit(*on.domain, {}, [](std::span<const double>) {}, a);
  on.pe.run();
  EXPECT_EQ(good.state(), task_state::done);
  EXPECT_EQ(bad.state(), task_state::failed);
}

task<> change_part(hetero_object<double> part) {
  auto access = part.host(access_mode::read_write);
  auto view = co_await access;
  for (double& v : view) v *= 2;
}

TEST(slices, have_views) {
  hetero_pe on(1);
  auto x = counting(on, 6);
  submit(*on.domain, {}, add_on_device(1), x);
  on.run(change_part(x.slice(2, 2)));
  submit(*on.domain, {}, add_on_device(1), x);
  EXPECT_THAT(values(on, x), testing::ElementsAre(2, 3, 7, 9, 6, 7));
}

TEST(slices, evicted_with_the_whole) {
  hetero_pe on(1);
  auto x = counting(on, 8);
  const auto a = x.slice(0, 4);
  submit(*on.domain, {}, add_on_device(1), a);
  submit(*on.domain, {}, add_on_device(1), x);
  submit(*on.domain, {}, add_on_device(1), a);
  on.pe.run();
  x.evict();
  on.pe.run();
  EXPECT_EQ(on.domain->places()[1]->used(), 0);
  EXPECT_THAT(values(on, x), testing::ElementsAre(3, 4, 5, 6, 5, 6, 7, 8));
}

}  // namespace

}  // namespace slices_test
