#include <gmock/gmock.h>

#include <algorithm>
#include <numeric>

#include "imbrex/base/memory/sanitizer.h"
#include "unit/object/job.h"

namespace hetero_argument_test {

using namespace imbrex;
using namespace imbrex_test;

namespace {

using object = hetero_object<double>;
constexpr std::size_t sizes[] = {0, 7, 3000, imbrex::any_sanitizer ? 20'000 : 400'000};

object made(std::size_t n, double first) {
  object x(n);
  submit({.name = "make"}, [first](std::span<double> v) { std::iota(v.begin(), v.end(), first); }, write(x));
  return x;
}
void add(const object& x, double term) {
  submit(
      {.name = "add"},
      [term](std::span<double> v) {
        for (double& e : v) e += term;
      },
      x);
}
void spoil(const object& x) {
  submit({.name = "spoil"}, [](std::span<double> v) { std::fill(v.begin(), v.end(), -1e9); }, x);
}

/// Whether x is first, first + 1, ...
task<bool> counts_from(object x, std::size_t n, double first) {
  auto access = x.host(access_mode::read);
  auto view = co_await access;
  bool right = view.size() == n;
  for (std::size_t i = 0; i < view.size(); ++i) right = right && view[i] == first + static_cast<double>(i);
  co_return right;
}

struct keeper : chare<keeper, index1d> {
  // ------------------------------------------------------------------ as an argument
  task<> send_all() {
    for (int to = 0; to < extent(); ++to) {
      for (const std::size_t n : sizes) {
        object x = made(n, 10.0 * index());
        array()[to].send<&keeper::take>(x, 10.0 * index(), n);
        spoil(x);                 // a writer after the send
        object y = made(n, 1.0);  // handle gone at once
        array()[to].send<&keeper::take>(std::move(y), 1.0, n);
        object z = made(n, 2.0);
        co_await submit({}, [](std::span<const double>) {}, z);
        array()[to].send<&keeper::take>(z, 2.0, n);  // ready
        auto view = z.host(access_mode::write);
        auto at = co_await view;
        std::fill(at.begin(), at.end(), 0.0);
      }
    }
  }
  task<> take(object x, double first, std::size_t n) {
    add(x, 5);
    auto asked = counts_from(x, n, first + 5);
    const bool right = co_await std::move(asked);
    num_right_ += right ? 1 : 0;
    if (++num_taken_ == 3 * 4 * extent()) contribute(num_right_, sum);
  }

  // ------------------------------------------------------------------ calls, slots, broadcasts
  object doubled(const object& x) {
    submit(
        {},
        [](std::span<double> v) {
          for (double& e : v) e *= 2;
        },
        x);
    return x;
  }
  object nothing(object x) { return x; }
  object broken(object) { throw usage_error("not this one"); }
  task<> call_all() {
    int right = 0;
    for (int to = 0; to < extent(); ++to) {
      for (const std::size_t n : sizes) {
        object x = made(n, 0.0);
        auto asked = array()[to].call<&keeper::doubled>(x);
        const object twice = co_await std::move(asked);
        submit(
            {},
            [](std::span<const double> a, std::span<double> b) {
              for (std::size_t i = 0; i < b.size(); ++i) b[i] -= a[i];
            },
            x, twice);
        auto same = counts_from(twice, n, 0.0);
        right += co_await std::move(same) ? 1 : 0;
      }
      auto back = array()[to].call<&keeper::nothing>(object());
      const object empty = co_await std::move(back);
      right += empty.exists() ? 0 : 1;
      auto refused = array()[to].call<&keeper::broken>(made(100, 0));
      try {
        co_await std::move(refused);
      } catch (const usage_error& e) {
        right += std::string(e.what()) == "not this one" ? 1 : 0;
      }
    }
    contribute(right, sum);
  }

  when<int, object> slot;
  task<> slots() {
    const int left = (index() + extent() - 1) % extent();
    const int right = (index() + 1) % extent();
    for (int i = 0; i < 4; ++i) array()[right].send<&keeper::slot>(i, made(sizes[i], 1.0 * index()));
    int good = 0;
    for (int i = 3; i >= 0; --i) {
      auto waiting = slot(i);
      auto [message] = co_await waiting;
      auto same = counts_from(std::move(message), sizes[i], 1.0 * left);
      good += co_await std::move(same) ? 1 : 0;
    }
    contribute(good, sum);
  }

  void spread() {
    for (const std::size_t n : sizes) {
      object x = made(n, 3.0);
      array().broadcast<&keeper::heard>(x, n);
      spoil(x);
    }
  }
  task<> heard(object x, std::size_t n) {
    add(x, index());
    auto same = counts_from(x, n, 3.0 + index());
    num_right_ += co_await std::move(same) ? 1 : 0;
    if (++num_taken_ == 4) contribute(num_right_, sum);
  }

  // ------------------------------------------------------------------ failures
  task<> send_failing(bool large) {
    object x = made(large ? 100'000 : 10, 0.0);
    submit({.name = "broken"}, [](std::span<double>) { throw device_error("the disc is full"); }, x);
    auto asked = array()[extent() - 1].call<&keeper::look>(x);
    const std::string said = co_await std::move(asked);
    const bool right = said.find("device: ") == 0 && said.find("the disc is full") != std::string::npos;
    if (!right) fmt::print(stderr, "{}\n", said);
    contribute(right ? 1 : 0, sum);
  }
  task<std::string> look(object x) {
    auto t = submit({.name = "reader"}, [](std::span<double>) {}, x);
    try {
      co_await t;
    } catch (const error& e) {
      co_return std::string(e.kind()) + ": " + e.what();
    }
    co_return std::string("nothing");
  }
  void send_undefined() { array()[1].send<&keeper::take>(object(10), 0.0, 10); }
  // Data are in flight when the job ends.
  void send_and_exit() {
    for (int to = 0; to < extent(); ++to) array()[to].send<&keeper::take>(made(2'000'000, 0.0), 0.0, 2'000'000);
    rt().exit(3);
  }

 private:
  int num_taken_ = 0;
  int num_right_ = 0;
};

template <auto M>
task<int> each(runtime& rt, int expected) {
  auto all = rt.create_array<keeper>(index1d(4));
  all.broadcast<M>();
  co_return co_await all.reduction<int>() == expected ? 0 : 1;
}
task<int> arguments(runtime& rt) { return each<&keeper::send_all>(rt, 4 * 3 * 4 * 4); }
task<int> calls(runtime& rt) { return each<&keeper::call_all>(rt, 4 * 4 * 6); }
task<int> slots(runtime& rt) { return each<&keeper::slots>(rt, 4 * 4); }
task<int> broadcasts(runtime& rt) {
  auto all = rt.create_array<keeper>(index1d(9));
  all[5].send<&keeper::spread>();
  co_return co_await all.reduction<int>() == 9 * 4 ? 0 : 1;
}
task<int> failing(runtime& rt) {
  auto all = rt.create_array<keeper>(index1d(4));
  for (const bool large : {false, true}) {
    all.broadcast<&keeper::send_failing>(large);
    const int right = co_await all.reduction<int>();
    if (right != 4) co_return 1;
  }
  co_return 0;
}
template <auto M>
task<int> alone(runtime& rt) {
  auto all = rt.create_array<keeper>(index1d(4));
  all[0].send<M>();
  co_await rt.quiescence();
  co_return 0;
}

TEST(hetero_argument, brings_the_data_as_they_were_when_it_was_sent) {
  run_over_all_shapes(arguments);
  for (const char* protocol : {"packed", "direct", "staged"}) {
    command_line line({2, 2}, {std::string("--imbrex-protocol=") + protocol});
    EXPECT_EQ(imbrex::run(line.count(), line.values(), arguments), 0) << protocol;
  }
}
TEST(hetero_argument, may_be_a_result) { run_over_all_shapes(calls); }
TEST(hetero_argument, waits_in_a_slot) { run_over_all_shapes(slots); }
TEST(hetero_argument, is_broadcast) { run_over_all_shapes(broadcasts); }
TEST(hetero_argument, of_a_failed_task_fails_its_readers) { run_over_all_shapes(failing); }
TEST(hetero_argument, nobody_has_written_is_a_named_error) {
  const job_outcome o = run_and_listen({2, 1}, &alone<&keeper::send_undefined>);
  EXPECT_NE(o.code, 0);
  EXPECT_THAT(o.errors, testing::HasSubstr("nobody has written"));
}
TEST(hetero_argument, does_not_keep_a_job_from_ending) {
  for (const job_shape& s : all_shapes()) {
    SCOPED_TRACE(to_text(s));
    EXPECT_EQ(run_job_with(s, &alone<&keeper::send_and_exit>), 3);
  }
}

// ---------------------------------------------------------------------------------------------- elements that move

struct wanderer : chare<wanderer, index1d> {
  template <class Archive>
  void serialize(Archive& ar) {
    ar & num_left;
  }
  void take(const object& x, std::size_t n, double first) {
    array()[index()].send<&wanderer::check>(x, n, first);
    if (--num_left % 3 == 0) migrate_to((pe() + 1) % num_pes());
  }
  void check(const object& x, std::size_t n, double first) {
    submit(
        {.name = "check"},
        [](std::span<const double> v, std::size_t size, double f) {
          bool right = v.size() == size;
          for (std::size_t i = 0; i < v.size(); ++i) right = right && v[i] == f + static_cast<double>(i);
          num_checked += right ? 1 : 1000;
        },
        x, n, first);
  }
  int num_left = 24;
  static std::atomic<int> num_checked;
};
std::atomic<int> wanderer::num_checked{0};

struct sender : chare<sender, index1d> {
  void run(array_proxy<wanderer> to) {
    for (int i = 0; i < 6; ++i) {
      const std::size_t n = i % 2 == 0 ? 50 : 20'000;
      object x = made(n, i);
      to[0].send<&wanderer::take>(x, n, static_cast<double>(i));
      spoil(x);
    }
  }
};

task<int> moving(runtime& rt) {
  wanderer::num_checked = 0;
  auto one = rt.create_array<wanderer>(index1d(1));
  auto senders = rt.create_array<sender>(index1d(4));
  senders.broadcast<&sender::run>(one);
  co_await rt.quiescence();
  co_return wanderer::num_checked == 24 ? 0 : 1;
}

TEST(hetero_argument, follows_an_element_that_moves) { run_over_all_shapes(moving); }

// ------------------------------------------------------------------------------------------------- last handles

struct single : chare<single, index1d> {
  task<> run() {
    object x = made(1000, 0);
    const auto* const data = x.data();
    object watched = x;
    auto copied = array()[0].call<&single::is>(x, reinterpret_cast<std::uintptr_t>(data));
    const bool same_though_shared = co_await std::move(copied);
    watched.release();
    auto moved = array()[0].call<&single::is>(std::move(x), reinterpret_cast<std::uintptr_t>(data));
    const bool same = co_await std::move(moved);
    contribute(same && !same_though_shared ? 1 : 0, sum);
  }
  bool is(const object& x, std::uintptr_t data) { return reinterpret_cast<std::uintptr_t>(x.data()) == data; }
};

task<int> last_handle(runtime& rt) {
  auto all = rt.create_array<single>(index1d(1));
  all.broadcast<&single::run>();
  co_return co_await all.reduction<int>() == 1 ? 0 : 1;
}

TEST(hetero_argument, goes_over_to_an_element_of_the_same_pe_with_its_last_handle) {
  EXPECT_EQ(run_job_with({1, 1}, last_handle), 0);
}

// ------------------------------------------------------------------------------------------------ grids

struct tile_keeper : chare<tile_keeper, index1d> {
  task<> send_all(std::size_t n) {
    for (int to = 0; to < extent(); ++to) {
      hetero_grid<double> g({n, n});
      submit({}, [](std::span<double> v) { std::iota(v.begin(), v.end(), 0.0); }, write(g.object()));
      array()[to].send<&tile_keeper::take>(g.tile({1, 2}, {n - 2, n - 3}), n);
      array()[to].send<&tile_keeper::take>(g.tile({1, 2}, {n - 2, n - 3}).copy(), n);
      array()[to].send<&tile_keeper::take_rows>(g.tile({0, 2}, {n, 3}), n);
      array()[to].send<&tile_keeper::take_none>(hetero_grid<double>());
      submit({}, [](std::span<double> v) { std::ranges::fill(v, -1.0); }, g.object());
      const hetero_grid<double> back = co_await array()[to].call<&tile_keeper::give>(n);
      auto access = back.host(access_mode::read);
      const auto view = co_await access;
      EXPECT_EQ(view(0, 0), static_cast<double>(n + 1));
      EXPECT_EQ(view(1, 1), static_cast<double>(2 * n + 2));
    }
  }
  task<> take(hetero_grid<double> tile, std::size_t n) {
    auto access = tile.host(access_mode::read);
    const auto view = co_await access;
    bool right = view.extent(0) == n - 2 && view.extent(1) == n - 3;
    for (std::size_t y = 0; y < view.extent(1); ++y)
      for (std::size_t x = 0; x < view.extent(0); ++x)
        right = right && view(x, y) == static_cast<double>(x + 1 + n * (y + 2));
    EXPECT_TRUE(right);
    count();
  }
  task<> take_rows(hetero_grid<double> rows, std::size_t n) {
    auto access = rows.host(access_mode::read);
    const auto view = co_await access;
    EXPECT_EQ(view(n - 1, 2), static_cast<double>(n - 1 + n * 4));
    count();
  }
  void take_none(hetero_grid<double> none) {
    EXPECT_FALSE(none.exists());
    count();
  }
  hetero_grid<double> give(std::size_t n) {
    hetero_grid<double> g({n, n});
    submit({}, [](std::span<double> v) { std::iota(v.begin(), v.end(), 0.0); }, write(g.object()));
    return g.tile({1, 1}, {2, 2});
  }
  void count() {
    if (++num_taken_ % (4 * extent()) == 0) contribute(1, sum);
  }

 private:
  int num_taken_ = 0;
};

task<int> send_tiles(runtime& rt) {
  auto all = rt.create_array<tile_keeper>(rt.num_pes() + 1);
  for (const std::size_t n : {std::size_t{5}, std::size_t{300}}) {
    all.broadcast<&tile_keeper::send_all>(n);
    co_await all.reduction<int>();
  }
  co_return 0;
}

TEST(hetero_argument, may_be_a_grid_or_a_tile) { run_over_all_shapes(send_tiles); }

}  // namespace

}  // namespace hetero_argument_test
