#include <numeric>

#include "imbrex/base/error.h"
#include "unit/hetero/hetero_fixture.h"

namespace hetero_object_test {

using namespace imbrex;
using namespace imbrex_test;

namespace {

task<> fill_on_host(hetero_object<double> x, double value) {
  auto access = x.host(access_mode::write);
  auto view = co_await access;
  std::fill(view.begin(), view.end(), value);
}

task<> expect_all(hetero_object<double> x, double value) {
  auto access = x.host(access_mode::read);
  auto view = co_await access;
  for (const double v : view) EXPECT_EQ(v, value);
}

TEST(hetero_object, is_brought_where_a_task_runs_once) {
  hetero_pe on(1);
  auto x = on.object<double>(1000);
  on.run(fill_on_host(x, 1));
  EXPECT_EQ(x.state_at(0), coherence::exclusive);
  for (int i = 0; i < 5; ++i) submit(*on.domain, {}, add_on_device(1), x);
  on.run(expect_all(x, 6));
  EXPECT_EQ(on.counts().bytes_to_devices, 8000);
  EXPECT_EQ(on.counts().bytes_to_host, 8000);
  EXPECT_EQ(x.state_at(0), coherence::shared);
  EXPECT_EQ(x.state_at(1), coherence::shared);
  on.run(expect_all(x, 6));
  EXPECT_EQ(on.counts().bytes_moved(), 16000);
}

TEST(hetero_object, may_lie_in_memory_of_the_programs) {
  std::vector<double> own(1000, 2);
  hetero_pe on(1);
  {
    auto x = hetero_object<double>::over(*on.domain, own);
    const auto set = [&own](std::span<double> v, std::size_t at, double value) {
      EXPECT_EQ(v.data() + at, own.data() + (v.size() == 1000 ? at : 500 + at));
      v[at] = value;
    };
    submit(*on.domain, {}, set, x, 3, 5);
    submit(*on.domain, {}, set, x.slice(500, 9), 0, 6);
    on.pe.run();
    EXPECT_EQ(own[3], 5);
    EXPECT_EQ(own[500], 6);
    for (int i = 0; i < 3; ++i) submit(*on.domain, {}, add_on_device(1), x);
    on.run(expect_all(x.slice(600, 100), 5));  // brings that, and no more need be there
    on.run(expect_all(x.slice(0, 3), 5));
    auto whole = x.host(access_mode::read);
    const auto read = [](decltype(whole) w) -> task<> { co_await w; };
    on.run(read(std::move(whole)));
    EXPECT_EQ(own[3], 8);
    EXPECT_EQ(own[500], 9);
    x.evict();
    submit(*on.domain, {}, add_on_device(1), x);
  }
  on.pe.run();
  EXPECT_EQ(own.size(), 1000U);
  EXPECT_EQ(on.domain->copies().num_objects(), 0U);
  const auto nothing = hetero_object<double>::over(*on.domain, {});
  EXPECT_EQ(nothing.size(), 0U);
}

TEST(hetero_object, that_is_overwritten_is_not_brought) {
  hetero_pe on(1);
  auto x = on.object<double>(1000);
  on.run(fill_on_host(x, 1));
  auto set = [](stream& s, std::span<double> v) { s.call("set", [v] { std::fill(v.begin(), v.end(), 3.0); }); };
  submit(*on.domain, {}, set, write(x));
  on.run(expect_all(x, 3));
  EXPECT_EQ(on.counts().bytes_to_devices, 0);
}

TEST(hetero_object, goes_from_device_to_device) {
  hetero_pe on(2);
  auto x = on.object<double>(1000);
  on.run(fill_on_host(x, 0));
  for (int i = 0; i < 10; ++i) submit(*on.domain, {.on = device_kind::host, .number = i % 2}, add_on_device(1), x);
  on.run(expect_all(x, 10));
  EXPECT_EQ(on.counts().bytes_to_devices, 8000);
  EXPECT_EQ(on.counts().bytes_between, 9 * 8000);
  EXPECT_EQ(on.counts().bytes_to_host, 8000);
}

template <class Mode>
task<> hold(hetero_object<double> x, Mode mode, completion* until, bool* held) {
  auto access = x.host(mode);
  auto view = co_await access;
  *held = true;
  co_await *until;
  if constexpr (access_mode(Mode()) != access_mode::read) view[0] = 99;
}

TEST(hetero_object, is_const_in_a_view_that_reads) {
  using object = hetero_object<double>;
  using reading = decltype(std::declval<object>().host(access_mode::read));
  using changing = decltype(std::declval<object>().host(access_mode::read_write));
  using overwriting = decltype(std::declval<object>().host(access_mode::write));
  static_assert(std::is_same_v<reading, host_access<const double>>);
  static_assert(std::is_same_v<changing, host_access<double>>);
  static_assert(std::is_same_v<overwriting, host_access<double>>);
  static_assert(std::is_const_v<std::remove_reference_t<decltype(std::declval<host_view<const double>>()[0])>>);
  static_assert(std::is_convertible_v<host_view<double>&&, host_view<const double>>);
  static_assert(!std::is_convertible_v<host_view<const double>&&, host_view<double>>);
}

TEST(hetero_object, is_not_changed_while_it_is_viewed) {
  hetero_pe on(1);
  auto x = on.object<double>(10);
  on.run(fill_on_host(x, 1));
  completion until;
  bool held = false;
  started viewer(hold(x, access_mode::read, &until, &held));
  on.pe.run();
  ASSERT_TRUE(held);
  const hetero_task reader = submit(*on.domain, {}, [](std::span<const double>) {}, x);
  const hetero_task writer = submit(*on.domain, {}, add_on_device(1), x);
  on.pe.run();
  EXPECT_TRUE(reader.done());
  EXPECT_FALSE(writer.done());
  until.set();
  on.pe.run();
  EXPECT_TRUE(writer.done());
  on.run(expect_all(x, 2));
}

TEST(hetero_object, is_not_read_while_a_view_writes) {
  hetero_pe on;
  auto x = on.object<double>(1);
  completion until;
  bool held = false;
  started viewer(hold(x, access_mode::write, &until, &held));
  on.pe.run();
  double seen = 0;
  const hetero_task reader = submit(*on.domain, {}, [&seen](std::span<const double> v) { seen = v[0]; }, x);
  on.pe.run();
  EXPECT_FALSE(reader.done());
  until.set();
  on.pe.run();
  EXPECT_EQ(seen, 99);
}

TEST(hetero_object, a_view_that_nobody_awaits_holds_nothing_up) {
  hetero_pe on;
  auto x = on.object<double>(1);
  {
    auto unused = x.host(access_mode::write);
  }
  const hetero_task next = submit(*on.domain, {}, [](std::span<double>) {}, write(x));
  on.pe.run();
  EXPECT_TRUE(next.done());
}

TEST(hetero_object, lives_until_its_last_task) {
  hetero_pe on(1);
  double seen = 0;
  {
    auto x = on.object<double>(10);
    submit(*on.domain, {}, [](std::span<double> v) { std::fill(v.begin(), v.end(), 5.0); }, write(x));
    submit(*on.domain, {}, add_on_device(2), x);
    submit(*on.domain, {}, [&seen](std::span<const double> v) { seen = v[9]; }, x);
  }
  on.pe.run();
  EXPECT_EQ(seen, 7);
  EXPECT_EQ(on.memory.used().in_use, 0);
}

TEST(hetero_object, prefetch_and_evict) {
  hetero_pe on(1);
  auto x = on.object<double>(10);
  on.run(fill_on_host(x, 1));
  x.prefetch(device_kind::host);
  on.pe.run();
  EXPECT_EQ(x.state_at(1), coherence::shared);
  submit(*on.domain, {}, add_on_device(1), x);
  on.pe.run();
  EXPECT_EQ(x.state_at(0), coherence::invalid);
  x.evict();
  on.pe.run();
  EXPECT_EQ(x.state_at(1), coherence::invalid);
  EXPECT_EQ(on.domain->places()[1]->used(), 0);
  on.run(expect_all(x, 2));
}

}  // namespace

}  // namespace hetero_object_test
