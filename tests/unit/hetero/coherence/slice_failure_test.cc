#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "imbrex/base/error.h"
#include "unit/hetero/hetero_fixture.h"

namespace slice_failure_test {

// What a failed task leaves of an object with slices, byte by byte: worthless is what nobody has overwritten since.
using namespace imbrex;
using namespace imbrex_test;

namespace {

using object = hetero_object<double>;

auto fill_with(double value) {
  return [value](std::span<double> v) { std::fill(v.begin(), v.end(), value); };
}
constexpr auto fail = [](std::span<double>) { throw std::runtime_error("no such number"); };

task<> await(hetero_task t) { co_await t; }
task<> look(object x, std::size_t i, double* into) {
  auto access = x.host(access_mode::read);
  auto view = co_await access;
  *into = view[i];
}

/// Each case with the failing task over before the next is submitted, and with all submitted at once.
class slice_failure : public testing::TestWithParam<bool> {
 protected:
  void run_failing(const object& x) {
    const hetero_task bad = submit(*on.domain, {.name = "bad"}, fail, x);
    if (GetParam()) {
      EXPECT_THROW(on.run(await(bad)), error);
    }
    failed.push_back(bad);
  }
  void overwrite(const object& x, double value) { submit(*on.domain, {}, fill_with(value), write(x)); }
  double first_of(const object& x) { return value_of(x, 0); }
  double value_of(const object& x, std::size_t i) {
    double value = 0;
    on.run(look(x, i, &value));
    return value;
  }

  hetero_pe on;
  object whole = on.object<double>(20);
  std::vector<hetero_task> failed;
};

TEST_P(slice_failure, of_a_slice_ends_when_the_whole_is_overwritten) {
  overwrite(whole, 7);
  const object a = whole.slice(0, 10), b = whole.slice(10, 10);
  run_failing(b);
  overwrite(whole, 3);
  EXPECT_EQ(first_of(b), 3);
  EXPECT_EQ(first_of(a), 3);
  EXPECT_EQ(first_of(whole), 3);
}

TEST_P(slice_failure, of_the_whole_ends_when_all_slices_are_overwritten) {
  const object a = whole.slice(0, 10), b = whole.slice(10, 10);
  overwrite(whole, 7);
  run_failing(whole);
  overwrite(a, 4);
  EXPECT_EQ(first_of(a), 4);
  EXPECT_THROW(first_of(b), error);
  EXPECT_THROW(first_of(whole), error);
  overwrite(b, 5);
  EXPECT_EQ(first_of(b), 5);
  EXPECT_EQ(value_of(whole, 0), 4);
  EXPECT_EQ(value_of(whole, 19), 5);
}

TEST_P(slice_failure, of_a_slice_ends_when_it_is_overwritten) {
  const object a = whole.slice(0, 10), b = whole.slice(10, 10);
  overwrite(whole, 7);
  run_failing(a);
  EXPECT_EQ(first_of(b), 7);
  EXPECT_THROW(first_of(whole), error);
  overwrite(a, 1);
  EXPECT_EQ(value_of(whole, 0), 1);
  EXPECT_EQ(value_of(whole, 10), 7);
}

TEST_P(slice_failure, outlives_the_slice_that_nobody_has_any_more) {
  overwrite(whole, 7);
  object a = whole.slice(0, 10);
  run_failing(a);
  failed.clear();
  a.release();
  EXPECT_THROW(first_of(whole), error);
  EXPECT_THROW(first_of(whole.slice(5, 10)), error);
  EXPECT_EQ(first_of(whole.slice(10, 10)), 7);
}

TEST_P(slice_failure, reaches_who_writes_the_whole_from_what_was_there) {
  overwrite(whole, 7);
  const object a = whole.slice(0, 10);
  run_failing(a);
  submit(*on.domain, {}, fill_with(2), whole);
  EXPECT_THROW(first_of(whole), error);
  EXPECT_THROW(first_of(a), error);
}

INSTANTIATE_TEST_SUITE_P(, slice_failure, testing::Bool(),
                         [](const auto& i) { return i.param ? "awaited" : "submitted_at_once"; });

}  // namespace

}  // namespace slice_failure_test
