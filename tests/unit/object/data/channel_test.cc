#include "unit/object/job.h"

#include <gmock/gmock.h>

#include <functional>
#include <numeric>
#include <string>
#include <vector>

namespace channel_test {

using namespace imbrex;
using namespace imbrex_test;

namespace {

struct cell : chare<cell, index1d> {
  int right() const { return (index() + 1) % extent(); }
  int left() const { return (index() + extent() - 1) % extent(); }

  // Every cell sends to the right and receives from the left; send buffers alternate.
  task<> shift(int rounds, int length) {
    channel<double> out(*this, array()[right()], 0, 1);
    channel<double> in(*this, array()[left()], 1, 0);
    stream_set& s = streams();
    buffer<double> mine[2] = {{on_device(), std::size_t(length)}, {on_device(), std::size_t(length)}};
    buffer<double> theirs(on_device(), std::size_t(length));
    int right_values = 0;
    for (int i = 0; i < rounds; ++i) {
      double* m = mine[i % 2].data();
      const double first = i * 1000.0 + index();
      s.pack.call("pack", [m, first, length] { std::iota(m, m + length, first); });
      auto sent = out.send(mine[i % 2], s.pack);
      const std::size_t n = co_await in.recv(theirs, s.unpack);
      const double expected = i * 1000.0 + left();
      const double* t = theirs.data();
      s.compute.after(s.unpack);
      s.compute.call("check", [&right_values, t, expected, length] {
        right_values += (length == 0 || (t[0] == expected && t[length - 1] == expected + length - 1)) ? 1 : 0;
      });
      s.unpack.after(s.compute);
      if (n != std::size_t(length)) right_values -= 1000;
      co_await sent;
    }
    co_await s.compute.done();
    contribute(right_values == rounds ? 1 : 0, sum);
  }

  // Several messages on their way before the first is received; several receives wait before the first comes.
  task<> run_ahead(int count) {
    channel<int> out(*this, array()[right()], 7, 8);
    channel<int> in(*this, array()[left()], 8, 7);
    const auto n = static_cast<std::size_t>(count);
    std::vector<int> sent(n), got(n, -1);
    std::iota(sent.begin(), sent.end(), index() * 100);
    for (std::size_t i = 0; i < sent.size(); ++i)
      out.send(buffer_view<const int>(&sent[i], 1, memory_kind::host), streams().pack);
    std::vector<channel<int>::receive_wait> receives;
    for (std::size_t i = 0; i < got.size(); ++i) {
      receives.push_back(in.recv(buffer_view<int>(&got[i], 1, memory_kind::host), streams().unpack));
    }
    auto all = when_all(std::move(receives));
    co_await all;
    co_await streams().unpack.done();
    std::vector<int> expected(n);
    std::iota(expected.begin(), expected.end(), left() * 100);
    // Nobody may leave while a neighbour still reads its memory.
    co_await barrier();
    contribute(got == expected ? 1 : 0, sum);
  }

  task<> too_long() {
    channel<int> out(*this, array()[right()], 0, 1), in(*this, array()[left()], 1, 0);
    std::vector<int> sent(5), got(3);
    out.send(sent, streams().pack);
    co_await in.recv(got, streams().unpack);
  }
  // Caught, whether it waited before the message came or not; the next ones are as they were.
  task<> too_long_and_on(bool waits) {
    channel<int> out(*this, array()[right()], 0, 1), in(*this, array()[left()], 1, 0);
    std::vector<int> five{1, 2, 3, 4, 5}, two{6, 7}, got(3);
    send_both_ = [&, this] {
      out.send(five, streams().pack);
      out.send(two, streams().pack);
    };
    if (!waits) {
      send_both_();
      co_await barrier();
      co_await barrier();
    }
    auto first = in.recv(got, streams().unpack);
    auto second = in.recv(got, streams().unpack);
    if (waits) array()[index()].send<&cell::send_both>();
    std::string said;
    try {
      co_await first;
    } catch (const usage_error& e) {
      said = e.what();
    }
    const std::size_t came = co_await second;
    co_await streams().unpack.done();
    const bool is_right = said.find("a message of 5 elements came for a receive of 3") != std::string::npos &&
                          came == 2 && got == std::vector<int>{6, 7, 0};
    co_await barrier();
    contribute(is_right ? 1 : 0, sum);
  }
  void send_both() { send_both_(); }
  task<> other_type() {
    channel<int> out(*this, array()[right()], 0, 1);
    channel<float> in(*this, array()[left()], 1, 0);
    std::vector<int> sent(5);
    std::vector<float> got(5);
    out.send(sent, streams().pack);
    co_await in.recv(got, streams().unpack);
  }
  void same_port() { channel<int> a(*this, array()[right()], 0, 1), b(*this, array()[right()], 0, 2); }
  task<> nobody_sends() {
    channel<int> in(*this, array()[left()], 3, 4);
    std::vector<int> got(1);
    co_await in.recv(got, streams().unpack);
  }

 private:
  std::function<void()> send_both_;
};

task<int> shift_job(runtime& rt, int cells, int rounds, int length) {
  auto a = rt.create_array<cell>(index1d(cells));
  a.broadcast<&cell::shift>(rounds, length);
  const int right = co_await a.reduction<int>();
  co_return right == cells ? 0 : 1;
}

TEST(channel, values_arrive_in_order_and_whole) { run_over_all_shapes(&shift_job, 7, 40, 33); }
TEST(channel, messages_may_be_empty) { run_over_all_shapes(&shift_job, 3, 5, 0); }
TEST(channel, a_chare_may_be_its_own_neighbour) { run_over_all_shapes(&shift_job, 1, 10, 8); }
TEST(channel, large_messages_arrive_whole) { EXPECT_EQ(run_job_with({1, 2}, &shift_job, 2, 3, 3'000'000), 0); }

task<int> run_ahead_job(runtime& rt) {
  auto a = rt.create_array<cell>(index1d(5));
  a.broadcast<&cell::run_ahead>(20);
  const int right = co_await a.reduction<int>();
  co_return right == 5 ? 0 : 1;
}
TEST(channel, any_number_may_be_outstanding_on_both_sides) { run_over_all_shapes(&run_ahead_job); }

template <auto M>
task<int> broken_job(runtime& rt) {
  auto a = rt.create_array<cell>(index1d(2));
  a.template broadcast<M>();
  co_await a.template reduction<int>();
  co_return 0;
}
TEST(channel, a_message_longer_than_the_receive_is_a_named_error) {
  const job_outcome o = run_and_listen({2, 1}, &broken_job<&cell::too_long>);
  EXPECT_EQ(o.code, 70);
  EXPECT_THAT(o.errors, testing::HasSubstr("a message of 5 elements came for a receive of 3"));
  EXPECT_THAT(o.errors, testing::HasSubstr("port 1 of"));
}
task<int> too_long_job(runtime& rt, bool waits) {
  auto a = rt.create_array<cell>(index1d(4));
  a.broadcast<&cell::too_long_and_on>(waits);
  const int right = co_await a.reduction<int>();
  co_return right == 4 ? 0 : 1;
}
TEST(channel, a_message_longer_than_the_receive_is_an_error_of_that_receive_alone) {
  run_over_all_shapes(&too_long_job, true);
  run_over_all_shapes(&too_long_job, false);
}
TEST(channel, ends_of_different_types_are_a_named_error) {
  const job_outcome o = run_and_listen({1, 2}, &broken_job<&cell::other_type>);
  EXPECT_EQ(o.code, 70);
  EXPECT_THAT(o.errors, testing::HasSubstr("different element types"));
}
TEST(channel, a_port_serves_one_channel) {
  const job_outcome o = run_and_listen({1, 1}, &broken_job<&cell::same_port>);
  EXPECT_EQ(o.code, 70);
  EXPECT_THAT(o.errors, testing::HasSubstr("port 0 is in use"));
}
TEST(channel, a_receive_that_nobody_serves_is_reported_as_a_deadlock) {
  const job_outcome o = run_and_listen({2, 1}, &broken_job<&cell::nobody_sends>);
  EXPECT_EQ(o.code, 70);
  EXPECT_THAT(o.errors, testing::HasSubstr("a message on the channel at port 3 of"));
}

class talker : public chare<talker, index1d> {
 public:
  void talk() {
    other_ = channel<int>(*this, array()[index1d(1 - index().x)], 0, 0);
    for (int i = 0; i < 3; ++i) other_.send(std::span<const int>(values_), streams().pack);
  }

 private:
  std::vector<int> values_{1, 2, 3};
  channel<int> other_;
};

task<int> nobody_listens(runtime& rt) {
  auto talkers = rt.create_array<talker>(index1d(2));
  talkers.broadcast<&talker::talk>();
  co_await rt.quiescence();
  co_return 0;
}

TEST(channel, messages_that_nobody_receives_keep_no_job_from_ending) { run_over_all_shapes(nobody_listens); }

class hasty : public chare<hasty, index1d> {
 public:
  task<> exchange(bool waits) {
    other_ = channel<int>(*this, array()[index1d(1 - index().x)], 0, 0);
    for (int i = 0; i < 5; ++i) {
      values_.assign(100, i);
      auto sent = other_.send(std::span<const int>(values_), streams().pack);
      if (!waits) values_.assign(100, -1);  // lent at this moment
      received<int> theirs = co_await other_.borrow();
      EXPECT_EQ(theirs.size(), 100u);
      theirs = received<int>();
      co_await sent;
    }
  }

 private:
  std::vector<int> values_;
  channel<int> other_;
};

task<int> exchange(runtime& rt, bool waits) {
  auto both = rt.create_array<hasty>(index1d(2));
  both.broadcast<&hasty::exchange>(waits);
  co_await rt.quiescence();
  co_return 0;
}

int exchange_checked(const job_shape& s, bool waits) {
  command_line line(s, {"--imbrex-check-races"});
  return run(line.count(), line.values(), &exchange, waits);
}

TEST(channel, memory_written_while_it_is_lent_can_be_found) {
  for (const job_shape& s : {job_shape{1, 1}, job_shape{2, 1}, job_shape{1, 2}}) {
    EXPECT_EQ(exchange_checked(s, true), 0) << to_text(s);
  }
  // On one PE: on two the thread sanitizer would be right to stop the test.
  testing::internal::CaptureStderr();
  EXPECT_EQ(exchange_checked({1, 1}, false), 70);
  EXPECT_NE(testing::internal::GetCapturedStderr().find("lent memory that was written"), std::string::npos);
}

class aligned : public chare<aligned, index1d> {
 public:
  task<bool> exchange() {
    channel<double> other(*this, array()[index1d(1 - index().x)], 0, 0);
    bool all = true;
    for (std::size_t n = 1; n < 60; n += 7) {
      const std::vector<double> values(n, 1.0);
      auto sent = other.send(values, streams().pack);
      received<double> theirs = co_await other.borrow();
      all = all && reinterpret_cast<std::uintptr_t>(theirs.data()) % 64 == 0;
      theirs = received<double>();
      co_await sent;
    }
    co_return all;
  }
};

task<int> on_two_ranks(runtime& rt) {
  auto both = rt.create_array<aligned>(index1d(2));
  auto first = both[0].call<&aligned::exchange>();
  auto second = both[1].call<&aligned::exchange>();
  auto answers = when_all(std::move(first), std::move(second));
  const auto [a, b] = co_await std::move(answers);
  EXPECT_TRUE(a && b);
  co_return 0;
}

TEST(channel, what_comes_from_another_rank_is_aligned_as_buffers_are) {
  EXPECT_EQ(run_job_with({1, 2}, on_two_ranks), 0);
}

struct stray : chare<stray, index1d> {
  std::string open(int other) {
    try {
      channel<int> c(*this, array()[other], 4, 4);
    } catch (const usage_error& e) {
      channel<int> c(*this, array()[index()], 4, 4);  // the port is free
      return e.what();
    }
    return "nothing was thrown";
  }
};

task<int> to_nobody(runtime& rt) {
  auto all = rt.create_array<stray>(index1d(4));
  for (const int other : {4, 77, -1}) {
    auto asked = all[3].call<&stray::open>(other);
    const std::string said = co_await std::move(asked);
    EXPECT_THAT(said, testing::HasSubstr(fmt::format("stray has no element ({}): its extent is (4)", other)));
  }
  co_return 0;
}

TEST(channel, to_an_element_that_cannot_be_is_refused_when_it_is_made) { run_over_all_shapes(to_nobody); }

}  // namespace

}  // namespace channel_test
