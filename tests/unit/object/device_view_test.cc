#include <gmock/gmock.h>

#include <array>
#include <atomic>
#include <map>
#include <numeric>

#include "unit/object/job.h"

using namespace imbrex;
using namespace imbrex_test;

/// GPU messages, here between host devices, which are devices like any other.
namespace {

constexpr std::array<std::size_t, 5> lengths{1, 100, 3000, 70'000, 0};
constexpr int rounds = 15;

struct taker : chare<taker, index1d> {
  explicit taker(bool posts) : posts_(posts) {}

  static constexpr int num_hops = 13;
  static constexpr std::int64_t first_value = 100;
  inline static std::atomic<int> num_arrivals{0};

  // Sends to the right what came from the left, and one more.
  task<> pass(int hops) {
    buffer<std::int64_t> data(on_device(), lengths[1]);
    std::fill_n(data.data(), lengths[1], first_value);
    device_view<std::int64_t> view(data.view(), streams().pack);
    auto sent = view.lent();
    array()[(index() + 1) % extent()].send<&taker::hop>(hops, std::move(view));
    co_await sent;
  }
  task<> hop(int hops, device_view<std::int64_t> data) {
    stream& s = data.stream();
    buffer<std::int64_t> mine(on_device(), data.size());
    const std::int64_t* from = data.data();
    std::int64_t* to = mine.data();
    const std::size_t n = data.size();
    s.launch("add one", [from, to, n] {
      for (std::size_t i = 0; i < n; ++i) to[i] = from[i] + 1;
    });
    if (hops == 0) {
      co_await s.done();
      for (std::size_t i = 0; i < n; ++i) EXPECT_EQ(mine.data()[i], first_value + num_hops);
      ++num_arrivals;
      co_return;
    }
    device_view<std::int64_t> view(mine.view(), s);
    auto sent = view.lent();
    array()[(index() + 1) % extent()].send<&taker::hop>(hops - 1, std::move(view));
    data = device_view<std::int64_t>();
    co_await sent;
  }

  // Messages of all lengths to a chare with a post method.
  task<> feed(int to) {
    for (int i = 0; i < rounds; ++i) {
      const std::size_t n = lengths[static_cast<std::size_t>(i) % lengths.size()];
      buffer<double> data(on_device(), n);
      std::iota(data.data(), data.data() + n, 10.0 * i);
      device_view<double> view(data.view(), streams().pack);
      auto sent = view.lent();
      array()[to].send<&taker::take>(i, std::move(view), std::string("round ") + std::to_string(i));
      co_await sent;
    }
  }
  void take(int round, device_view<double> data, const std::string& text) {
    EXPECT_EQ(text, "round " + std::to_string(round));
    const std::size_t n = lengths[static_cast<std::size_t>(round) % lengths.size()];
    if (posts_ && n > 0) {
      EXPECT_EQ(data.data(), places_[round].data());
    }
    auto look = [this, round, n, from = data.data(), size = data.size()] {
      bool good = size == n;
      for (std::size_t i = 0; i < size; ++i) good = good && from[i] == 10.0 * round + static_cast<double>(i);
      num_right_ += good ? 1 : 0;
      if (++num_taken_ == rounds) contribute(num_right_, sum);
    };
    stream& s = data.stream();
    s.launch("look", std::move(look));  // the memory goes back when this has run
  }
  buffer_view<double> post(for_entry<&taker::take>, int round, const std::string& text, std::size_t size) {
    EXPECT_EQ(text, "round " + std::to_string(round));
    if (!posts_) return {};
    places_[round].assign(size, -1.0);
    return {places_[round].data(), size, memory_kind::host};
  }
  task<double> total(device_view<double> data) {
    stream& s = data.stream();
    co_await s.done();
    co_return std::accumulate(data.data(), data.data() + data.size(), 0.0);
  }
  task<> ask() {
    buffer<double> data(on_device(), 5000);
    std::fill_n(data.data(), 5000, 0.5);
    device_view<double> view(data.view(), streams().pack);
    auto sent = view.lent();
    auto asked = array()[1].call<&taker::total>(std::move(view));
    const double answer = co_await std::move(asked);
    co_await sent;
    contribute(answer == 2500.0 ? 1 : 0, sum);
  }

 private:
  const bool posts_;
  std::map<int, std::vector<double>> places_;
  int num_right_ = 0, num_taken_ = 0;
};

int run_with(const job_shape& s, const std::string& protocol, auto start, auto... extra) {
  command_line line(s, {"--imbrex-protocol=" + protocol});
  return imbrex::run(line.count(), line.values(), start, extra...);
}

task<int> around(runtime& rt, int members) {
  auto ring = rt.create_array<taker>(index1d(members), false);
  taker::num_arrivals = 0;  // ranks of these jobs share the process
  ring[0].send<&taker::pass>(taker::num_hops - 1);
  co_await rt.quiescence();
  co_return taker::num_arrivals == 1 ? 0 : 1;
}

task<int> fed(runtime& rt, bool posts) {
  auto both = rt.create_array<taker>(index1d(2), posts);
  both[0].send<&taker::feed>(1);
  both[1].send<&taker::feed>(0);
  const int right = co_await both.reduction<int>();
  co_return right == 2 * rounds ? 0 : 1;
}

task<int> asked(runtime& rt) {
  auto all = rt.create_array<taker>(index1d(3), false);
  all.broadcast<&taker::ask>();
  co_return co_await all.reduction<int>() == 3 ? 0 : 1;
}

TEST(device_view, reach_their_entry_method_with_the_data) {
  for (const std::string protocol : {"auto", "packed", "staged", "direct", "shared"}) {
    for (const job_shape& s : all_shapes()) {
      SCOPED_TRACE(protocol + ", " + to_text(s));
      EXPECT_EQ(run_with(s, protocol, fed, false), 0);
    }
  }
}

TEST(device_view, go_where_the_post_method_says) {
  for (const std::string protocol : {"auto", "packed", "staged", "direct"}) {
    for (const job_shape& s :
         {job_shape{1, 1}, job_shape{2, 1}, job_shape{1, 2}, job_shape{2, 2}, job_shape{1, 2, 4, 100}}) {
      SCOPED_TRACE(protocol + ", " + to_text(s));
      EXPECT_EQ(run_with(s, protocol, fed, true), 0);
    }
  }
}

TEST(device_view, are_passed_on) { run_over_all_shapes(around, 4); }
TEST(device_view, are_arguments_of_calls) { run_over_all_shapes(asked); }

}  // namespace
