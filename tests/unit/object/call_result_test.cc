#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <imbrex/imbrex.h>

#include <string>
#include <utility>
#include <vector>

#include "unit/object/job.h"

namespace call_result_test {

// What calls and allreduces give, and what is said where they give nothing.
namespace {

namespace ix = imbrex;
using imbrex_test::job_shape;
using imbrex_test::run_and_listen;
using testing::AllOf;
using testing::HasSubstr;

struct keeper : ix::chare<keeper, ix::index1d> {
  int get() { return 3; }
  const std::string& name() const { return name_; }
  ix::task<> forget_a_call() {
    auto never = array()[0].call<&keeper::get>();
    static_cast<void>(never);
    co_return;
  }
  ix::task<> forget_an_allreduce() {
    auto never = allreduce(1, ix::sum);
    static_cast<void>(never);
    co_return;
  }
  ix::task<> forget_nothing() {
    auto first = array()[0].call<&keeper::get>();
    auto second = array()[0].call<&keeper::get>();
    auto both = ix::when_all(std::move(first), std::move(second));
    const auto [x, y] = co_await both;
    EXPECT_EQ(x + y, 6);
  }
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wreturn-type"
  ix::task<std::string> gives_nothing(bool gives) {
    co_await ix::when_all(std::vector<ix::task<int>>());
    if (gives) co_return "something";
  }
#pragma GCC diagnostic pop
#endif

 private:
  std::string name_ = "kept";
};

template <auto M>
std::string said_by_keeper() {
  const auto [code, errors] = run_and_listen({1, 1}, [](ix::runtime& rt) -> ix::task<int> {
    const auto a = rt.create_array<keeper>(1);
    co_await a[0].call<M>();
    co_return 0;
  });
  EXPECT_EQ(code, 0);
  return errors;
}

TEST(result, of_a_call_or_an_allreduce_that_nobody_awaits_is_told_of) {
  const auto told = AllOf(HasSubstr("a call or an allreduce was made in "), HasSubstr("and never awaited"));
  EXPECT_THAT(said_by_keeper<&keeper::forget_a_call>(), told);
  EXPECT_THAT(said_by_keeper<&keeper::forget_an_allreduce>(), told);
  EXPECT_EQ(said_by_keeper<&keeper::forget_nothing>(), "");
}

TEST(result, that_is_a_reference_arrives_as_a_copy) {
  EXPECT_EQ(imbrex_test::run_job_with({1, 2},
                                      [](ix::runtime& rt) -> ix::task<int> {
                                        const auto a = rt.create_array<keeper>(2);
                                        const std::string name = co_await a[1].call<&keeper::name>();
                                        co_return name == "kept" ? 0 : 1;
                                      }),
            0);
}

#if defined(__GNUC__) && !defined(__clang__)
TEST(result, that_a_coroutine_does_not_give_is_an_error) {
  for (const job_shape& s : {job_shape{1, 1}, {1, 2}}) {
    EXPECT_EQ(imbrex_test::run_job_with(s,
                                        [](ix::runtime& rt) -> ix::task<int> {
                                          const auto a = rt.create_array<keeper>(2);
                                          const std::string given = co_await a[1].call<&keeper::gives_nothing>(true);
                                          EXPECT_EQ(given, "something");
                                          bool thrown = false;
                                          try {
                                            co_await a[1].call<&keeper::gives_nothing>(false);
                                          } catch (const ix::usage_error& e) {
                                            EXPECT_THAT(e.what(), HasSubstr("has ended without co_return"));
                                            thrown = true;
                                          }
                                          co_return thrown ? 0 : 1;
                                        }),
              0);
  }
}
#endif

}  // namespace

}  // namespace call_result_test
