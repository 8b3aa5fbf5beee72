#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <imbrex/imbrex.h>

#include <string>
#include <vector>

#include "unit/checkpoint/live/job_with_checkpoints.h"

namespace points_test {

// Points for balancing and for checkpoints in one loop, of elements that go to other processes.
namespace {

namespace ix = imbrex;
using namespace imbrex_test;
using testing::AllOf;
using testing::HasSubstr;

constexpr int last = 12;

/// As docs/checkpoints.md says.
struct walker : ix::chare<walker, ix::index1d> {
  int step = 0, work = 0;
  bool at_checkpoint = false;

  ix::task<> run() {
    while (step < last || at_checkpoint) {
      if (!at_checkpoint) {
        work += index().x;
        ++step;
        at_checkpoint = true;
        migrate_to((pe() + 1 + step % 2) % num_pes());
        co_await ix::balance(*this);
      }
      at_checkpoint = false;
      co_await ix::checkpoint_point(*this);
    }
    contribute(work, ix::sum);
  }
  using restartable = ix::entry_list<&walker::run>;
  template <class Archive>
  void serialize(Archive& ar) {
    ar & step & work & at_checkpoint;
  }
};

/// One stands at another point than the rest.
struct careless : ix::chare<careless, ix::index1d> {
  ix::task<> run() {
    if (index().x == 1) co_await ix::balance(*this);
    if (index().x != 1) co_await ix::checkpoint_point(*this);
    contribute(1, ix::sum);
  }
  template <class Archive>
  void serialize(Archive&) {}
};

template <class C>
struct program {
  ix::array_proxy<C> all;

  ix::task<int> start(ix::runtime& rt) {
    all = rt.create_array<C>(ix::index1d(9));
    auto rest = finish();
    co_return co_await rest;
  }
  ix::task<int> restart(ix::runtime&) {
    auto rest = finish();
    co_return co_await rest;
  }
  ix::task<int> finish() {
    all.template broadcast<&C::run>();
    auto sum = all.template reduction<int>();
    co_return co_await sum == last * 36 ? 0 : 3;
  }
  template <class Archive>
  void serialize(Archive& ar) {
    ar & all;
  }
};

TEST(two_points, in_one_loop_lose_nothing) {
  for (const job_shape& s : {job_shape{1, 1}, {2, 2}, {3, 1, 5, 50}, {4, 2, 8, 30, true}}) {
    SCOPED_TRACE(to_text(s));
    folder_of_checkpoints at;
    const std::vector<std::string> options{at.option(), "--imbrex-checkpoint-every=3", "--imbrex-balance=greedy",
                                           "--imbrex-balance-every-ms=0"};
    EXPECT_EQ(run_program<program<walker>>(s, options), 0);
    ASSERT_TRUE(at.has_any());
    EXPECT_EQ(run_program<program<walker>>({2, 1}, {"--imbrex-restart=" + at.path()}), 0);
  }
}

TEST(two_points, at_once_are_refused_by_their_names) {
  folder_of_checkpoints at;
  testing::internal::CaptureStderr();
  EXPECT_NE(run_program<program<careless>>({2, 1}, {at.option(), "--imbrex-checkpoint-every=2"}), 0);
  EXPECT_THAT(testing::internal::GetCapturedStderr(),
              AllOf(HasSubstr("elements disagree about reduction"), HasSubstr("ix::balance"),
                    HasSubstr("ix::checkpoint_point"), HasSubstr("one point for each turn")));
}

struct asking : ix::chare<asking, ix::index1d> {
  ix::task<> ask() { co_await rt().checkpoint_point(); }
  ix::task<> make() {
    auto made = rt().checkpoint();
    co_await made;
  }
  template <class Archive>
  void serialize(Archive&) {}
};

template <auto Method>
struct asking_program {
  ix::task<int> start(ix::runtime& rt) {
    const auto all = rt.create_array<asking>(ix::index1d(3));
    std::string said;
    for (int i = 0; i < 3; ++i) {
      try {
        auto asked = all[i].template call<Method>();
        co_await asked;
      } catch (const ix::usage_error& e) {
        said += e.what();
      }
    }
    const std::string what = "main chare";
    int times = 0;
    for (auto at = said.find(what); at != std::string::npos; at = said.find(what, at + 1)) ++times;
    co_return times == 3 ? 0 : 3;
  }
  ix::task<int> restart(ix::runtime&) { co_return 0; }
  template <class Archive>
  void serialize(Archive&) {}
};

TEST(points_of_the_main_chare, are_refused_to_elements_of_any_pe) {
  for (const job_shape& s : {job_shape{1, 1}, {1, 3}, {2, 1}}) {
    folder_of_checkpoints at;
    EXPECT_EQ(run_program<asking_program<&asking::ask>>(s, {at.option()}), 0);
    EXPECT_EQ(run_program<asking_program<&asking::make>>(s, {at.option()}), 0);
  }
}

}  // namespace

}  // namespace points_test
