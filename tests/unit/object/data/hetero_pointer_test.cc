#include <gmock/gmock.h>

#include <algorithm>
#include <numeric>

#include "unit/object/job.h"

namespace hetero_pointer_test {

using namespace imbrex;
using namespace imbrex_test;

namespace {

using object = hetero_object<double>;
constexpr std::size_t sizes[] = {0, 5, 2000, 300'000};

object filled(std::size_t n, double value) {
  object x(n);
  submit({.name = "make"}, [value](std::span<double> v) { std::fill(v.begin(), v.end(), value); }, write(x));
  return x;
}

task<bool> all_are(object x, double value) {
  auto access = x.host(access_mode::read);
  auto view = co_await access;
  co_return std::all_of(view.begin(), view.end(), [value](double v) { return v == value; });
}

struct holder : chare<holder, index1d> {
  holder() {
    for (const std::size_t n : sizes) mine_.push_back(filled(n, 1000.0 * index()));
  }
  hetero_pointer<double> where(int which) const { return expose(mine_[static_cast<std::size_t>(which)]); }

  // Gets from the right, changes it, puts it to the left.
  task<> exchange() {
    const int right = (index() + 1) % extent();
    int good = 0;
    for (int i = 0; i < 4; ++i) {
      auto asked = array()[right].call<&holder::where>(i);
      const hetero_pointer<double> there = co_await std::move(asked);
      object got(there.size());
      auto coming = get(there, got);
      co_await coming;
      auto same = all_are(got, 1000.0 * right);
      good += co_await std::move(same) ? 1 : 0;
    }
    auto met = barrier();
    co_await std::move(met);
    for (int i = 0; i < 4; ++i) {
      auto asked = array()[right].call<&holder::where>(i);
      const hetero_pointer<double> there = co_await std::move(asked);
      auto told = put_and_tell<&holder::told>(there, filled(there.size(), index() + 0.5), array()[right], i);
      co_await told;
    }
    num_right_ += good;
    end();
  }
  task<> told(int which) {
    const int left = (index() + extent() - 1) % extent();
    auto same = all_are(mine_[static_cast<std::size_t>(which)], left + 0.5);
    num_right_ += co_await std::move(same) ? 1 : 0;
    ++num_told_;
    end();
  }
  void end() {
    if (++num_ended_ == 5) contribute(num_right_, sum);
  }

  // A put waits for tasks that were submitted before it came, and those after it see the new data.
  task<> in_order() {
    object& x = mine_[2];
    submit({}, [](std::span<double> v) { std::fill(v.begin(), v.end(), 1.0); }, x);
    object source = filled(x.size(), 2.0);
    auto there = expose(x);
    auto moved = put(there, source);
    auto read = submit({}, [](std::span<const double>) {}, x);
    co_await moved;
    submit({}, [](std::span<double> v) { std::fill(v.begin(), v.end(), 7.0); }, source);
    auto same = all_are(x, 2.0);
    const bool right = co_await std::move(same);
    auto itself = put(there, x);
    co_await itself;
    auto fetched = get(there, source);
    co_await fetched;
    auto again = all_are(source, 2.0);
    const bool got = co_await std::move(again);
    contribute(right && got ? 1 : 0, sum);
  }

  // ------------------------------------------------------------------------------------------- errors
  void drop(int which) { mine_[static_cast<std::size_t>(which)].release(); }
  task<> errors() {
    const int other = (index() + 1) % extent();
    int good = 0;
    auto asked = array()[other].call<&holder::where>(3);
    const hetero_pointer<double> there = co_await std::move(asked);
    try {
      auto moved = put(there, filled(10, 0));
      co_await moved;
    } catch (const usage_error& e) {
      good += std::string(e.what()).find("an object of 300000 elements there and one of 10") != std::string::npos;
    }
    try {
      auto moved = get(there, object(10));
      co_await moved;
    } catch (const usage_error&) {
      ++good;
    }
    object broken = filled(there.size(), 0);
    submit({}, [](std::span<double>) { throw device_error("burnt"); }, broken);
    try {
      auto moved = put(there, broken);
      co_await moved;
    } catch (const device_error& e) {
      good += std::string(e.what()).find("burnt") != std::string::npos;
    }
    object got(there.size());
    try {
      auto coming = get(there, got);
      co_await coming;
    } catch (const device_error&) {  // it is poisoned there
      ++good;
    }
    auto met = barrier();
    co_await std::move(met);
    auto dropped = array()[other].call<&holder::drop>(3);
    co_await std::move(dropped);
    try {
      auto moved = put(there, filled(there.size(), 0));
      co_await moved;
    } catch (const usage_error& e) {
      good += std::string(e.what()).find("does not exist any more") != std::string::npos;
    }
    try {
      auto coming = get(there, got);
      co_await coming;
    } catch (const usage_error&) {
      ++good;
    }
    try {
      auto seen = all_are(got, 0);
      co_await std::move(seen);
    } catch (const usage_error&) {
      ++good;
    }
    contribute(good, sum);
  }

 private:
  std::vector<object> mine_;
  int num_right_ = 0;
  int num_told_ = 0;
  int num_ended_ = 0;
};

template <auto M>
task<int> each(runtime& rt, int expected) {
  auto all = rt.create_array<holder>(index1d(4));
  all.broadcast<M>();
  co_return co_await all.reduction<int>() == expected ? 0 : 1;
}
task<int> exchanged(runtime& rt) { return each<&holder::exchange>(rt, 4 * 8); }
task<int> ordered(runtime& rt) { return each<&holder::in_order>(rt, 4); }
task<int> errors(runtime& rt) { return each<&holder::errors>(rt, 4 * 7); }

TEST(hetero_pointer, puts_and_gets_whole_objects) {
  run_over_all_shapes(exchanged);
  for (const char* protocol : {"packed", "direct", "staged"}) {
    command_line line({2, 2}, {std::string("--imbrex-protocol=") + protocol});
    EXPECT_EQ(imbrex::run(line.count(), line.values(), exchanged), 0) << protocol;
  }
}
TEST(hetero_pointer, takes_its_place_among_tasks) { run_over_all_shapes(ordered); }
TEST(hetero_pointer, what_cannot_be_is_a_named_error) { run_over_all_shapes(errors); }

}  // namespace

}  // namespace hetero_pointer_test
