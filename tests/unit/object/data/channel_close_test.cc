#include <gmock/gmock.h>

#include <numeric>

#include "unit/object/job.h"

namespace channel_close_test {

using namespace imbrex;
using namespace imbrex_test;

/// Channels that are closed or put to other use while something of them is under way.
namespace {

constexpr std::size_t length = 1000;

struct closer : chare<closer, index1d> {
  using index_type = index1d;

  void open(int port, int peer_port) { c_ = channel<double>(*this, array()[1 - index()], port, peer_port); }

  // The send stands behind a kernel that has not run when the channel is closed.
  void send_and_close() {
    values_.assign(length, 7.0);
    streams().compute.call("work", [] {});
    c_.send(buffer_view<const double>(values_), streams().compute);
    c_ = channel<double>();
  }
  void send_and_rewire() {
    values_.assign(length, 7.0);
    more_.assign(length, 8.0);
    streams().compute.call("work", [] {});
    c_.send(buffer_view<const double>(values_), streams().compute);
    channel<double> other(*this, array()[1 - index()], 2, 3);
    c_ = std::move(other);
    c_.send(buffer_view<const double>(more_), streams().compute);
  }
  void send_and_end() {
    values_.assign(length, 7.0);
    streams().compute.call("work", [] {});
    c_.send(buffer_view<const double>(values_), streams().compute);
    destroy();
  }

  task<bool> take(double expected) {
    std::vector<double> got(length, -1.0);
    const std::size_t n = co_await c_.recv(buffer_view<double>(got), streams().unpack);
    co_await streams().unpack.done();
    co_return n == length&& got.front() == expected&& got.back() == expected;
  }
  task<bool> take_on_other_port() {
    channel<double> other(*this, array()[1 - index()], 3, 2);
    std::vector<double> got(length, -1.0);
    const std::size_t n = co_await other.recv(buffer_view<double>(got), streams().unpack);
    co_await streams().unpack.done();
    co_return n == length&& got.front() == 8.0;
  }

  task<std::string> wait_in_vain(bool borrows) {
    std::vector<double> got(length);
    array()[index()].send<&closer::close>();
    try {
      if (borrows) {
        received<double> r = co_await c_.borrow();
      } else {
        co_await c_.recv(buffer_view<double>(got), streams().unpack);
      }
    } catch (const usage_error& e) {
      co_return e.what();
    }
    co_return "nothing was thrown";
  }
  void close() { c_ = channel<double>(); }
  void send_much() {
    values_.assign(100 * length, 7.0);
    for (int i = 0; i < 3; ++i) c_.send(buffer_view<const double>(values_), streams().compute);
  }

 private:
  std::vector<double> values_, more_;
  channel<double> c_;
};

task<int> sent_then_closed(runtime& rt) {
  auto both = rt.create_array<closer>(index1d(2));
  both.broadcast<&closer::open>(0, 0);
  co_await rt.quiescence();  // both ends know each other
  both[0].send<&closer::send_and_close>();
  auto asked = both[1].call<&closer::take>(7.0);
  co_return co_await std::move(asked) ? 0 : 1;
}
TEST(channel_close, what_was_sent_before_arrives) { run_over_all_shapes(sent_then_closed); }

task<int> sent_then_rewired(runtime& rt) {
  auto both = rt.create_array<closer>(index1d(2));
  both.broadcast<&closer::open>(0, 0);
  co_await rt.quiescence();
  both[0].send<&closer::send_and_rewire>();
  auto first = both[1].call<&closer::take>(7.0);
  const bool one = co_await std::move(first);
  auto second = both[1].call<&closer::take_on_other_port>();
  const bool other = co_await std::move(second);
  co_return one&& other ? 0 : 1;
}
TEST(channel_close, what_was_sent_before_arrives_when_the_channel_is_assigned) {
  run_over_all_shapes(sent_then_rewired);
}

task<int> sent_then_ended(runtime& rt) {
  auto both = rt.create_array<closer>(index1d(2));
  both.broadcast<&closer::open>(0, 0);
  co_await rt.quiescence();
  both[0].send<&closer::send_and_end>();
  co_await rt.quiescence();
  co_return 0;
}
TEST(channel_close, a_chare_may_end_with_sends_queued) { run_over_all_shapes(sent_then_ended); }

task<int> closed_with_messages(runtime& rt) {
  auto both = rt.create_array<closer>(index1d(2));
  both.broadcast<&closer::open>(0, 0);
  co_await rt.quiescence();
  both[0].send<&closer::send_much>();
  co_await rt.quiescence();  // they have come, and nobody receives them
  both[1].send<&closer::close>();
  co_await rt.quiescence();
  co_return 0;
}
TEST(channel_close, gives_back_what_nobody_received) { run_over_all_shapes(closed_with_messages); }

task<int> closed_under_a_receive(runtime& rt, bool borrows) {
  auto both = rt.create_array<closer>(index1d(2));
  both.broadcast<&closer::open>(5, 5);
  co_await rt.quiescence();
  auto asked = both[0].call<&closer::wait_in_vain>(borrows);
  const std::string said = co_await std::move(asked);
  EXPECT_THAT(said, testing::HasSubstr("port 5 of"));
  EXPECT_THAT(said, testing::HasSubstr("was closed while a receive waited"));
  co_return 0;
}
TEST(channel_close, whoever_waits_for_a_message_is_told) {
  for (const bool borrows : {false, true}) {
    for (const job_shape& s : {job_shape{1, 1}, job_shape{2, 1}, job_shape{1, 2}}) {
      SCOPED_TRACE(to_text(s));
      EXPECT_EQ(run_job_with(s, closed_under_a_receive, borrows), 0);
    }
  }
}

}  // namespace

}  // namespace channel_close_test
