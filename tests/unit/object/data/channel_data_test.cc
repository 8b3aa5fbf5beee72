#include <gmock/gmock.h>

#include <array>
#include <numeric>

#include "imbrex/base/memory/sanitizer.h"
#include "unit/object/job.h"

namespace channel_data_test {

using namespace imbrex;
using namespace imbrex_test;

/// Data of channels between ranks, each way of --imbrex-protocol that host memory can go.
namespace {

std::uint64_t sent_apart() { return scheduler::current().mover->num_sent()[1]; }

struct ring_cell : chare<ring_cell, index1d> {
  // Passes messages of several lengths around the ring, received in place or borrowed, and checks every element.
  task<> pass(int rounds, bool borrows, int expected_apart) {
    const int n = extent(), right = (index() + 1) % n, left = (index() + n - 1) % n;
    channel<std::uint64_t> out(*this, array()[right], 0, 1), in(*this, array()[left], 1, 0);
    co_await barrier();  // by then both ends know each other
    const std::array<std::size_t, 6> lengths{0, 1, 1000, 1024, 5000, imbrex::any_sanitizer ? 40'000 : 300'000};
    std::array<std::vector<std::uint64_t>, 2> mine;
    std::vector<std::uint64_t> theirs(lengths.back());
    stream_set& s = streams();
    int right_values = 0;
    for (int i = 0; i < rounds; ++i) {
      const std::size_t length = lengths[static_cast<std::size_t>(i) % lengths.size()];
      std::vector<std::uint64_t>& m = mine[static_cast<std::size_t>(i % 2)];
      m.resize(length);
      std::iota(m.begin(), m.end(), static_cast<std::uint64_t>(i * 1000 + index()));
      auto sent = out.send(buffer_view<const std::uint64_t>(m), s.pack);
      received<std::uint64_t> lent;
      const std::uint64_t* data = theirs.data();
      std::size_t count = 0;
      if (borrows) {
        lent = co_await in.borrow();
        data = lent.data();
        count = lent.size();
      } else {
        count = co_await in.recv(theirs, s.unpack);
        co_await s.unpack.done();
      }
      bool good = count == length;
      for (std::size_t k = 0; k < count; ++k) good = good && data[k] == static_cast<std::uint64_t>(i * 1000 + left) + k;
      right_values += good ? 1 : 0;
      lent = received<std::uint64_t>();
      co_await sent;
    }
    if (expected_apart >= 0) {
      EXPECT_EQ(sent_apart(), static_cast<std::uint64_t>(expected_apart));
    }
    co_await barrier();  // nobody leaves while a neighbour still reads its memory
    contribute(right_values, sum);
  }

  // Many outstanding on both sides, short and long ones mixed: they are matched in order.
  task<bool> many(int count) {
    const int n = extent();
    channel<int> out(*this, array()[(index() + 1) % n], 2, 3), in(*this, array()[(index() + n - 1) % n], 3, 2);
    co_await barrier();
    std::vector<std::vector<int>> sent, got;
    for (int i = 0; i < count; ++i) {
      const std::size_t length = i % 3 == 0 ? 40'000 : 10;
      sent.emplace_back(length, i);
      got.emplace_back(length, -1);
    }
    std::vector<channel_send> lent;
    lent.reserve(sent.size());
    for (const auto& m : sent) lent.push_back(out.send(buffer_view<const int>(m), streams().pack));
    std::vector<channel<int>::receive_wait> receives;
    for (auto& m : got) receives.push_back(in.recv(buffer_view<int>(m), streams().unpack));
    auto all = when_all(std::move(receives));
    co_await all;
    co_await streams().unpack.done();
    for (channel_send& l : lent) co_await l;
    co_await barrier();
    co_return got == sent;
  }

  void talk(int length) {
    values_.assign(static_cast<std::size_t>(length), 7);
    other_ = channel<int>(*this, array()[1 - index()], 4, 4);
    contribute(1, sum);
  }
  void send_in_vain() { other_.send(buffer_view<const int>(values_), streams().pack); }

 private:
  std::vector<int> values_;
  channel<int> other_;
};

int run_with(const job_shape& s, const char* protocol, auto start, auto... extra) {
  command_line line(s, {std::string("--imbrex-protocol=") + protocol});
  return imbrex::run(line.count(), line.values(), start, extra...);
}

task<int> pass_around(runtime& rt, int cells, bool borrows, int expected_apart) {
  auto ring = rt.create_array<ring_cell>(index1d(cells));
  ring.broadcast<&ring_cell::pass>(18, borrows, expected_apart);
  const int right = co_await ring.reduction<int>();
  co_return right == 18 * cells ? 0 : 1;
}

TEST(channel_data, arrive_whole_whichever_way_they_go) {
  // Of the six lengths four are beyond the 4 KiB that travel in the message; "direct" sends five apart, all but 0.
  for (const auto& [protocol, apart] : {std::pair{"auto", 12}, {"packed", 0}, {"direct", 15}, {"staged", 15}}) {
    for (const bool borrows : {false, true}) {
      SCOPED_TRACE(std::string(protocol) + (borrows ? ", borrowed" : ", received"));
      EXPECT_EQ(run_with({1, 2}, protocol, pass_around, 2, borrows, apart), 0);
      EXPECT_EQ(run_with({2, 2}, protocol, pass_around, 7, borrows, -1), 0);
      EXPECT_EQ(run_with({1, 3, 5, 100}, protocol, pass_around, 5, borrows, -1), 0);
    }
  }
}

task<int> many_outstanding(runtime& rt) {
  auto ring = rt.create_array<ring_cell>(index1d(3));
  auto a = ring[0].call<&ring_cell::many>(20);
  auto b = ring[1].call<&ring_cell::many>(20);
  auto c = ring[2].call<&ring_cell::many>(20);
  auto all = when_all(std::move(a), std::move(b), std::move(c));
  const auto [x, y, z] = co_await std::move(all);
  co_return x&& y&& z ? 0 : 1;
}

TEST(channel_data, any_number_may_be_outstanding) {
  for (const job_shape& s : {job_shape{1, 3}, job_shape{2, 2}, job_shape{1, 3, 3, 200}}) {
    SCOPED_TRACE(to_text(s));
    EXPECT_EQ(run_with(s, "auto", many_outstanding), 0);
  }
}

task<int> in_vain(runtime& rt, bool leaves_early) {
  auto both = rt.create_array<ring_cell>(index1d(2));
  both.broadcast<&ring_cell::talk>(100'000);
  co_await both.reduction<int>();
  co_await rt.quiescence();
  both.broadcast<&ring_cell::send_in_vain>();
  if (leaves_early) {
    rt.exit(0);
  } else {
    co_await rt.quiescence();
  }
  co_return 0;
}

TEST(channel_data, that_nobody_receives_keep_no_job_from_ending) {
  for (const bool leaves_early : {false, true}) {
    EXPECT_EQ(run_with({1, 2}, "direct", in_vain, leaves_early), 0);
    EXPECT_EQ(run_with({2, 2}, "auto", in_vain, leaves_early), 0);
  }
}

}  // namespace

}  // namespace channel_data_test
