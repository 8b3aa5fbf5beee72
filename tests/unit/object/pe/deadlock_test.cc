#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <imbrex/imbrex.h>

#include <algorithm>
#include <stdexcept>
#include <string>
#include <vector>

#include "unit/object/job.h"

namespace deadlock_test {

namespace {

namespace ix = imbrex;
using imbrex_test::job_shape;
using testing::HasSubstr;

struct stuck : ix::chare<stuck, ix::index1d> {
  ix::task<> wait_for(int reference) { co_await letters(reference); }
  ix::task<> wait_for_any() { co_await letters.any(); }
  ix::task<> ask(int whom) { co_await array()[whom].call<&stuck::wait_for>(3); }
  ix::task<> meet() { co_await barrier(); }
  void count_to(ix::element_proxy<stuck> whom) { contribute(1, ix::sum, ix::deliver<&stuck::told>(whom)); }
  void told(int) {}
  void take(ix::hetero_object<double>) {}
  ix::task<> read(ix::hetero_object<double> x) {
    auto access = x.host(ix::access_mode::read);
    const auto view = co_await access;
  }
  /// What is sent has to wait for the view.
  ix::task<> send_and_hold(ix::element_proxy<stuck> to) {
    const ix::hetero_object<double> x(100'000);
    auto access = x.host(ix::access_mode::write);
    const auto view = co_await access;
    to.send<&stuck::read>(x);
    co_await letters(1);
  }
  void end() { destroy(); }
  ix::task<> two_at_once() { co_await ix::when_all(letters(8), more(9)); }
  void fail() { throw std::runtime_error("cannot read the mesh"); }
  ix::task<> ask_and_wait() {
    auto asked = array()[index() + 1].call<&stuck::fail>();
    auto both = ix::when_all(std::move(asked), letters(8));
    co_await both;
  }
  ix::task<> expose_and_hold(ix::element_proxy<stuck> to) {
    const ix::hetero_object<double> x(5);
    auto access = x.host(ix::access_mode::write);
    const auto view = co_await access;
    to.send<&stuck::put_there>(expose(x));
    co_await letters(1);
  }
  ix::task<> put_there(ix::hetero_pointer<double> there) {
    const ix::hetero_object<double> x(there.size());
    ix::submit({}, [](std::span<double> v) { std::ranges::fill(v, 1.0); }, write(x));
    auto put_x = put(there, x);
    co_await put_x;
  }
  ix::when<int, std::string> letters;
  ix::when<long> more;
};

using stuck_array = ix::array_proxy<stuck>;
constexpr int n = 4;

ix::task<int> slot(ix::runtime& rt) {
  auto a = rt.create_array<stuck>(ix::index1d(n));
  a[3].send<&stuck::letters>(5, "five");
  a[3].send<&stuck::letters>(6, "six");
  a[3].send<&stuck::wait_for>(7);
  a[1].send<&stuck::wait_for_any>();
  co_await a.reduction<int>();
  co_return 0;
}

ix::task<int> call(ix::runtime& rt) {
  auto a = rt.create_array<stuck>(ix::index1d(n));
  co_await a[2].call<&stuck::ask>(3);
  co_return 0;
}

ix::task<int> collective(ix::runtime& rt) {
  auto a = rt.create_array<stuck>(ix::index1d(n));
  for (int i = 0; i + 1 < n; ++i) a[i].send<&stuck::meet>();
  co_await a.reduction<int>();
  co_return 0;
}

ix::task<int> both(ix::runtime& rt) {
  auto a = rt.create_array<stuck>(ix::index1d(n));
  co_await a[0].call<&stuck::two_at_once>();
  co_return 0;
}

ix::task<int> both_of_which_one_failed(ix::runtime& rt) {
  auto a = rt.create_array<stuck>(ix::index1d(n));
  co_await a[0].call<&stuck::ask_and_wait>();
  co_return 0;
}

ix::task<int> never_made(ix::runtime& rt) {
  auto a = rt.create_array<stuck>(ix::empty_array<ix::index1d>());
  for (int k = 0; k < 3; ++k) a[17].send<&stuck::letters>(k, "");
  co_await a[18].call<&stuck::wait_for>(1);
  co_return 0;
}

ix::task<int> never_made_and_gone(ix::runtime& rt) {
  auto a = rt.create_array<stuck>(ix::empty_array<ix::index1d>());
  a[17].send<&stuck::letters>(0, "");
  co_return 0;
}

/// What it was to read is lent for ever.
ix::task<int> never_made_to_read(ix::runtime& rt) {
  auto a = rt.create_array<stuck>(ix::empty_array<ix::index1d>());
  const ix::hetero_object<double> x(100'000);
  ix::submit({}, [](std::span<double> v) { v[0] = 1; }, write(x));
  a[17].send<&stuck::take>(x);
  co_return 0;
}

ix::task<int> sent_under_a_view(ix::runtime& rt) {
  auto a = rt.create_array<stuck>(ix::index1d(n));
  co_await a[0].call<&stuck::send_and_hold>(a[n - 1]);
  co_return 0;
}

ix::task<int> put_under_a_view(ix::runtime& rt) {
  auto a = rt.create_array<stuck>(ix::index1d(n));
  co_await a[0].call<&stuck::expose_and_hold>(a[n - 1]);
  co_return 0;
}

struct listener : ix::chare<listener, ix::index1d> {
  ix::task<> listen() {
    ix::channel<int> in(*this, array()[index() + 1], 3, 4);
    std::vector<int> got(1);
    co_await in.recv(got, streams().unpack);
  }
};
ix::task<int> nobody_sends(ix::runtime& rt) {
  auto a = rt.create_array<listener>(ix::index1d(n));
  co_await a[2].call<&listener::listen>();
  co_return 0;
}

template <class Start>
void expect_report(Start start, const std::vector<std::string>& parts) {
  for (const job_shape& s : imbrex_test::all_shapes()) {
    SCOPED_TRACE(to_text(s));
    const auto [code, errors] = imbrex_test::run_and_listen(s, start);
    EXPECT_EQ(code, 70);
    EXPECT_THAT(errors, HasSubstr("deadlock"));
    for (const std::string& part : parts) EXPECT_THAT(errors, HasSubstr(part));
  }
}

TEST(deadlock, of_slots_names_references_and_what_is_queued) {
  expect_report(slot, {"stuck::wait_for of ", "stuck(3) waits for ", "stuck::letters with reference 7",
                       "queued with other references: ", "stuck(1) waits for ", "any reference",
                       "the main chare waits for the result of a reduction of deadlock_test::"});
}

TEST(deadlock, of_calls_names_the_whole_chain) {
  expect_report(call, {"the main chare waits for the reply of ", "stuck::ask from element (2)",
                       "stuck(2) waits for the reply of ", "stuck::wait_for from element (3)", "stuck(3) waits for ",
                       "reference 3"});
}

TEST(deadlock, of_a_barrier_names_who_came) {
  expect_report(collective, {"stuck(0) waits for the result of reduction 0",
                             "stuck(2) waits for the result of reduction 0", "reduction 0 of ", "contributions"});
}

TEST(deadlock, of_two_waits_at_once_names_both) { expect_report(both, {"reference 8", "reference 9", " and for "}); }

TEST(deadlock, by_an_element_that_never_comes_names_it) {
  expect_report(never_made, {"3 messages for ", "stuck(17), which does not exist", "1 message for ",
                             "stuck(18), which does not exist", "the main chare waits for the reply of "});
}

TEST(deadlock, of_objects_sent_under_a_view_names_the_view) {
  expect_report(sent_under_a_view, {"reference 1", "a view of its argument 0, 800000 bytes, is held"});
  expect_report(put_under_a_view, {"reference 1", "a put into an object",
                                   "task 'receive' is waiting: a view of its argument 0, 40 bytes, is held"});
}

TEST(deadlock, is_reported_although_the_main_chare_has_returned) {
  expect_report(never_made_and_gone, {"1 message for ", "stuck(17), which does not exist"});
  expect_report(never_made_to_read, {"1 message for ", "stuck(17), which does not exist",
                                     "an object of 800000 bytes was sent in a message, and has not been read"});
}

ix::task<int> server_that_waits(ix::runtime& rt) {
  auto a = rt.create_array<stuck>(ix::index1d(n));
  a.broadcast<&stuck::wait_for>(0);
  co_await rt.quiescence();
  co_return 5;
}

TEST(deadlock, is_not_that_something_still_waits_when_the_main_chare_returns) {
  for (const job_shape& s : imbrex_test::all_shapes()) EXPECT_EQ(imbrex_test::run_job_with(s, server_that_waits), 5);
}

/// One of them never does, and nobody waits.
ix::task<int> miss_one(ix::runtime& rt, bool wait) {
  auto a = rt.create_array<stuck>(ix::index1d(n));
  for (int i = 0; i + 1 < n; ++i) a[i].send<&stuck::count_to>(a[0]);
  if (wait) co_await rt.quiescence();
  co_return 3;
}

TEST(deadlock, is_not_a_reduction_that_somebody_misses_but_it_is_told_of_in_the_end) {
  for (const job_shape& s : imbrex_test::all_shapes()) {
    SCOPED_TRACE(to_text(s));
    const auto [code, errors] = imbrex_test::run_and_listen(s, miss_one, s.pes > 1);
    EXPECT_EQ(code, 3);
    EXPECT_THAT(errors,
                HasSubstr("warning: the main chare has returned, and these wait for what cannot come any more:\n"));
    EXPECT_THAT(errors, HasSubstr("reduction 0 of "));
    const bool is_alone = s.pes * s.ranks == 1;
    EXPECT_THAT(errors, is_alone ? HasSubstr(" of 4, none of ") : HasSubstr(" of 4"));
  }
}

struct lonely : ix::chare<lonely> {
  ix::task<> wait() { co_await letters(1); }
  void end() { destroy(); }
  ix::when<int> letters;
};

ix::task<int> end_of_called_ones(ix::runtime& rt) {
  auto one = rt.create<lonely>();
  auto a = rt.create_array<stuck>(ix::index1d(1));
  auto call_of_one = one.call<&lonely::wait>();
  auto call_of_element = a[0].call<&stuck::wait_for>(3);
  auto both = ix::when_all(std::move(call_of_one), std::move(call_of_element));
  co_await std::move(both);
  co_return 0;
}

TEST(deadlock, of_calls_names_single_chares) {
  const auto [code, errors] = imbrex_test::run_and_listen({1, 1}, end_of_called_ones);
  EXPECT_EQ(code, 70);
  EXPECT_THAT(errors, HasSubstr("lonely::wait\n"));
}

struct killer : ix::chare<killer> {
  ix::task<> end_it(ix::element_proxy<stuck> whom) {
    whom.send<&stuck::end>();
    co_return;
  }
};

ix::task<int> end_while_called(ix::runtime& rt) {
  auto a = rt.create_array<stuck>(ix::index1d(1));
  auto k = rt.create<killer>();
  auto both = ix::when_all(a[0].call<&stuck::wait_for>(3), k.call<&killer::end_it>(a[0]));
  co_await std::move(both);
  co_return 0;
}

TEST(deadlock, of_a_call_to_an_element_that_has_ended_says_so) {
  const auto [code, errors] = imbrex_test::run_and_listen({1, 1}, end_while_called);
  EXPECT_EQ(code, 70);
  EXPECT_THAT(errors, HasSubstr("stuck::wait_for from element (0), which has ended"));
}

ix::task<int> hundreds(ix::runtime& rt) {
  auto a = rt.create_array<stuck>(ix::index1d(500));
  a.broadcast<&stuck::wait_for>(0);
  co_await a.reduction<int>();
  co_return 0;
}

TEST(deadlock, of_hundreds_is_reported_in_a_few_lines) {
  const auto [code, errors] = imbrex_test::run_and_listen({2, 1}, hundreds);
  EXPECT_EQ(code, 70);
  EXPECT_LE(std::count(errors.begin(), errors.end(), '\n'), 50);
  EXPECT_THAT(errors, HasSubstr(" more"));
}

TEST(deadlock, of_several_waits_tells_what_one_of_them_has_thrown) {
  expect_report(both_of_which_one_failed,
                {"stuck::letters with reference 8",
                 "the others of several that are awaited at once, of which one has thrown: ", "cannot read the mesh"});
}

TEST(deadlock, of_a_channel_names_both_ends) {
  expect_report(nobody_sends, {"a message on the channel at port 3 of deadlock_test::", "listener(2) from port 4 of ",
                               "listener(3)"});
}

}  // namespace

}  // namespace deadlock_test
