#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <imbrex/imbrex.h>

#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "unit/object/job.h"

namespace call_test {

namespace {

namespace ix = imbrex;
using imbrex_test::run_over_all_shapes;

struct unregistered : std::out_of_range {
  using std::out_of_range::out_of_range;
};

struct server : ix::chare<server, ix::index1d> {
  int plus(int a, int b) { return a + b; }
  void remember(int n) { last = n; }
  int recall() { return last; }
  std::vector<std::string> words(int n) { return std::vector<std::string>(static_cast<std::size_t>(n), "word"); }
  std::unique_ptr<int> boxed(int n) { return std::make_unique<int>(n); }
  ix::task<int> slowly(int n) {
    int sum = 0;
    for (int i = 1; i <= n; ++i) sum += co_await array()[(index() + i) % extent()].call<&server::plus>(i, 0);
    co_return sum;
  }
  ix::task<> slowly_nothing() { co_await array()[0].call<&server::remember>(3); }

  int usage() { throw ix::usage_error("too early"); }
  void device() { throw ix::device_error("it burns"); }
  ix::task<int> config() {
    co_await array()[0].call<&server::recall>();
    throw ix::config_error("no such colour");
  }
  ix::task<> relayed() { co_await array()[(index() + 1) % extent()].call<&server::config>(); }
  int foreign() { throw unregistered("the last page"); }
  int number() { throw 5; }
  ix::task<int> when_told() {
    co_await told(1);
    co_return 1;
  }
  ix::when<int> told;
  int last = 0;
};

ix::task<int> replies(ix::runtime& rt) {
  auto servers = rt.create_array<server>(ix::index1d(5));
  for (int i = 0; i < 5; ++i) {
    const int seven = co_await servers[i].call<&server::plus>(3, 4);
    EXPECT_EQ(seven, 7);
    co_await servers[i].call<&server::remember>(10 + i);
    const int last = co_await servers[i].call<&server::recall>();
    EXPECT_EQ(last, 10 + i);
    const auto words = co_await servers[i].call<&server::words>(1000);
    EXPECT_EQ(words, std::vector<std::string>(1000, "word"));
    const std::unique_ptr<int> box = co_await servers[i].call<&server::boxed>(i);
    EXPECT_EQ(*box, i);
    const int sum = co_await servers[i].call<&server::slowly>(10);
    EXPECT_EQ(sum, 55);
    co_await servers[i].call<&server::slowly_nothing>();
  }
  co_return 0;
}

TEST(call, brings_the_result_back) { run_over_all_shapes(replies); }

/// By a name, once.
ix::task<int> named_before_it_is_awaited(ix::runtime& rt) {
  auto servers = rt.create_array<server>(ix::index1d(2));
  auto asked = servers[1].call<&server::plus>(3, 4);
  const int seven = co_await asked;
  EXPECT_EQ(seven, 7);
  std::string said;
  try {
    co_await asked;
  } catch (const ix::usage_error& e) {
    said = e.what();
  }
  EXPECT_NE(said.find("awaited a second time"), std::string::npos) << said;
  co_return 0;
}

TEST(call, may_have_a_name_before_it_is_awaited) { run_over_all_shapes(named_before_it_is_awaited); }

template <class Error, auto M>
ix::task<std::string> caught_from(ix::element_proxy<server> from) {
  try {
    co_await from.call<M>();
  } catch (const Error& e) {
    co_return e.what();
  } catch (const std::exception& e) {
    ADD_FAILURE() << "an error of another kind: " << e.what();
  }
  co_return "";
}

ix::task<int> exceptions(ix::runtime& rt) {
  auto servers = rt.create_array<server>(ix::index1d(4));
  for (int i = 0; i < 4; ++i) {
    const ix::element_proxy<server> one = servers[i];
    const std::string usage = co_await caught_from<ix::usage_error, &server::usage>(one);
    EXPECT_EQ(usage, "too early");
    const std::string device = co_await caught_from<ix::device_error, &server::device>(one);
    EXPECT_EQ(device, "it burns");
    const std::string config = co_await caught_from<ix::config_error, &server::config>(one);
    EXPECT_EQ(config, "no such colour");
    const std::string relayed = co_await caught_from<ix::config_error, &server::relayed>(one);
    EXPECT_EQ(relayed, "no such colour");
  }
  co_return 0;
}

TEST(call, brings_exceptions_back_with_their_kind) { run_over_all_shapes(exceptions); }

ix::task<int> foreign_type(ix::runtime& rt) {
  auto servers = rt.create_array<server>(ix::placed(ix::index1d(rt.num_pes()), ix::map::round_robin{}));
  for (int i = 0; i < rt.num_pes(); ++i) {
    const bool other_rank = i >= rt.pes_per_rank();
    try {
      co_await servers[i].call<&server::foreign>();
      ADD_FAILURE() << "nothing was thrown";
    } catch (const unregistered&) {
      EXPECT_FALSE(other_rank);
    } catch (const ix::remote_error& e) {
      EXPECT_TRUE(other_rank);
      EXPECT_STREQ(e.what(), "the last page");
    }
    try {
      co_await servers[i].call<&server::number>();
      ADD_FAILURE() << "nothing was thrown";
    } catch (int n) {
      EXPECT_FALSE(other_rank);
      EXPECT_EQ(n, 5);
    } catch (const ix::remote_error&) {
      EXPECT_TRUE(other_rank);
    }
  }
  co_return 0;
}

TEST(call, keeps_the_text_of_exceptions_it_does_not_know) { run_over_all_shapes(foreign_type); }

ix::task<int> many_at_once(ix::runtime& rt) {
  auto servers = rt.create_array<server>(ix::index1d(5));
  using request = decltype(servers[0].call<&server::plus>(0, 0));
  std::vector<request> requests;
  for (int i = 0; i < 200; ++i) requests.push_back(servers[i % 5].call<&server::plus>(i, 1));
  const std::vector<int> results = co_await ix::when_all(std::move(requests));
  EXPECT_EQ(results.size(), 200u);
  for (int i = 0; i < static_cast<int>(results.size()); ++i) EXPECT_EQ(results[static_cast<std::size_t>(i)], i + 1);
  co_return 0;
}

TEST(call, can_be_under_way_many_times) { run_over_all_shapes(many_at_once); }

ix::task<int> first_error(ix::runtime& rt) {
  auto servers = rt.create_array<server>(ix::index1d(3));
  auto good = servers[0].call<&server::plus>(1, 2);
  auto bad = servers[1].call<&server::usage>();
  auto worse = servers[2].call<&server::config>();
  try {
    co_await ix::when_all(std::move(good), std::move(bad), std::move(worse));
    ADD_FAILURE() << "nothing was thrown";
  } catch (const ix::usage_error& e) {
    EXPECT_STREQ(e.what(), "too early");
  }
  const int still = co_await servers[1].call<&server::plus>(1, 1);
  EXPECT_EQ(still, 2);
  co_return 0;
}

TEST(call, in_when_all_throws_the_first_failure) { run_over_all_shapes(first_error); }

struct abandoned : ix::chare<abandoned, ix::index1d> {
  ix::task<> ask(ix::element_proxy<server> whom) {
    const int n = co_await whom.call<&server::when_told>();
    ADD_FAILURE() << "an element that had ended went on with " << n;
  }
};

ix::task<int> asker_ends(ix::runtime& rt) {
  auto servers = rt.create_array<server>(ix::index1d(3));
  auto askers = rt.create_array<abandoned>(ix::empty_array<ix::index1d>());
  co_await askers.insert_on(rt.num_pes() - 1, 0);
  askers[0].send<&abandoned::ask>(servers[0]);
  askers[0].erase();
  co_await rt.quiescence();
  servers[0].send<&server::told>(1);  // the answer finds nobody
  co_await rt.quiescence();
  co_return 0;
}

TEST(call, may_outlive_who_asked) {
  for (const imbrex_test::job_shape& s : {imbrex_test::job_shape{1, 1}, {4, 1}, {2, 2}}) {
    EXPECT_EQ(imbrex_test::run_job_with(s, asker_ends), 0);
  }
}

}  // namespace

}  // namespace call_test
