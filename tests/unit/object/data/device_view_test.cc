#include <gmock/gmock.h>

#include <array>
#include <atomic>
#include <map>
#include <numeric>

#include "unit/object/job.h"

namespace device_view_test {

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
    co_await streams().pack.done();
  }
  task<> hop(int hops, device_view<std::int64_t> data) {
    stream& s = data.stream();
    buffer<std::int64_t> mine(on_device(), data.size());
    const std::int64_t* from = data.data();
    std::int64_t* to = mine.data();
    const std::size_t n = data.size();
    s.call("add one", [from, to, n] {
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
    co_await s.done();
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
      co_await streams().pack.done();  // what was put into the receiver's stream has read it
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
    s.call("look", std::move(look));  // the memory goes back when this has run
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

/// Receives nothing: its post method cannot.
struct refuser : chare<refuser, index1d> {
  void take(device_view<double>) { FAIL() << "the data had nowhere to go"; }
  buffer_view<double> post(for_entry<&refuser::take>, std::size_t size) {
    if (size == 7) throw usage_error("seven is too many");
    place_ = buffer<double>(on_device(), 1);
    return place_.view();
  }
  // Two views, of which the second has nowhere to go.
  void take_two(device_view<double>, device_view<double>) { FAIL() << "the data had nowhere to go"; }
  buffer_view<double> post(for_entry<&refuser::take_two>, int which, std::size_t size) {
    if (which == 1) throw usage_error("there is room for one");
    place_ = buffer<double>(on_device(), size);
    return place_.view();
  }
  void end() { destroy(); }

 private:
  buffer<double> place_;
};

struct asker : chare<asker, index1d> {
  task<std::string> ask(array_proxy<refuser> all, int size) {
    buffer<double> data(on_device(), static_cast<std::size_t>(size));
    device_view<double> view(data.view(), streams().pack);
    auto sent = view.lent();
    auto called = all[1].call<&refuser::take>(std::move(view));
    std::string said = "nothing was thrown";
    try {
      co_await std::move(called);
    } catch (const error& e) {
      said = e.what();
    }
    co_await sent;  // the memory comes back whatever happened
    co_await streams().pack.done();
    co_return said;
  }
  task<std::string> ask_two(array_proxy<refuser> all) {
    buffer<double> data(on_device(), 70'000);
    device_view<double> one(data.view(), streams().pack), other(data.view(), streams().pack);
    auto first = one.lent();
    auto second = other.lent();
    auto called = all[1].call<&refuser::take_two>(std::move(one), std::move(other));
    std::string said = "nothing was thrown";
    try {
      co_await std::move(called);
    } catch (const error& e) {
      said = e.what();
    }
    co_await first;
    co_await second;
    co_await streams().pack.done();
    co_return said;
  }
};

task<int> refused(runtime& rt) {
  auto refusers = rt.create_array<refuser>(index1d(2));
  auto askers = rt.create_array<asker>(index1d(2));
  for (int who = 0; who < 2; ++who) {
    for (const int size : {7, 100, 70'000}) {
      auto asked = askers[who].call<&asker::ask>(refusers, size);
      const std::string said = co_await std::move(asked);
      EXPECT_THAT(said, testing::HasSubstr(size == 7 ? "seven is too many" : "came for a place of 1"));
    }
    auto asked = askers[who].call<&asker::ask_two>(refusers);
    const std::string said = co_await std::move(asked);
    EXPECT_THAT(said, testing::HasSubstr("there is room for one"));
  }
  refusers[1].send<&refuser::end>();
  co_await rt.quiescence();
  for (int who = 0; who < 2; ++who) {
    auto asked = askers[who].call<&asker::ask>(refusers, 70'000);
    const std::string said = co_await std::move(asked);
    EXPECT_THAT(said, testing::HasSubstr("deleted"));
  }
  co_return 0;
}

TEST(device_view, that_cannot_be_taken_give_their_memory_back) {
  for (const std::string protocol : {"auto", "packed", "staged", "direct"}) {
    for (const job_shape& s : {job_shape{1, 1}, job_shape{2, 1}, job_shape{1, 2}, job_shape{1, 2, 4, 100}}) {
      SCOPED_TRACE(protocol + ", " + to_text(s));
      EXPECT_EQ(run_with(s, protocol, refused), 0);
    }
  }
}

/// Moves, or ends, as soon as it is told to.
struct wanderer : chare<wanderer, index1d> {
  void take(device_view<double> data) {
    const double* from = data.data();
    const std::size_t n = data.size();
    stream& s = data.stream();
    s.call("add up", [this, from, n] { total_ += std::accumulate(from, from + n, 0.0); });
  }
  void go(int to) { migrate_to(to); }
  double total() const { return total_; }
  template <class Archive>
  void serialize(Archive& ar) {
    ar & total_;
  }

 private:
  double total_ = 0;
};

/// Ends as soon as a GPU message begins to arrive.
struct leaver : chare<leaver, index1d> {
  inline static std::atomic<int> num_taken{0};
  void take(device_view<double> data) { num_taken += data.size() == 70'000 ? 1 : 0; }
  buffer_view<double> post(for_entry<&leaver::take>, std::size_t) {
    destroy();
    return {};
  }
};

struct pursuer : chare<pursuer, index1d> {
  task<> visit(array_proxy<leaver> all) {
    buffer<double> data(on_device(), 70'000);
    device_view<double> view(data.view(), streams().pack);
    auto sent = view.lent();
    all[0].send<&leaver::take>(std::move(view));
    co_await sent;
    co_await streams().pack.done();
  }
  task<> pursue(array_proxy<wanderer> all, int messages, int pes) {
    buffer<double> data(on_device(), 70'000);
    std::fill_n(data.data(), data.size(), 0.5);
    std::vector<channel_send> lent;
    for (int i = 0; i < messages; ++i) {
      device_view<double> view(data.view(), streams().pack);
      lent.push_back(view.lent());
      all[0].send<&wanderer::take>(std::move(view));
      all[0].send<&wanderer::go>(i % pes);
    }
    for (channel_send& l : lent) co_await l;
    co_await streams().pack.done();
  }
};

task<int> pursued(runtime& rt) {
  auto all = rt.create_array<wanderer>(index1d(1));
  auto from = rt.create_array<pursuer>(index1d(2));
  constexpr int messages = 9;
  for (int who = 0; who < 2; ++who) {
    auto called = from[who].call<&pursuer::pursue>(all, messages, rt.num_pes());
    co_await std::move(called);
  }
  co_await rt.quiescence();
  auto asked = all[0].call<&wanderer::total>();
  const double total = co_await std::move(asked);
  EXPECT_EQ(total, 2 * messages * 35'000.0);
  co_return 0;
}

TEST(device_view, are_taken_before_their_chare_moves) {
  for (const std::string protocol : {"auto", "packed", "staged"}) {
    for (const job_shape& s :
         {job_shape{2, 1}, job_shape{1, 2}, job_shape{2, 2}, job_shape{1, 2, 4, 100}, job_shape{1, 3, 7, 100}}) {
      SCOPED_TRACE(protocol + ", " + to_text(s));
      EXPECT_EQ(run_with(s, protocol, pursued), 0);
    }
  }
}

task<int> taken_at_last(runtime& rt) {
  leaver::num_taken = 0;  // ranks of these jobs share the process
  auto all = rt.create_array<leaver>(index1d(1));
  auto from = rt.create_array<pursuer>(index1d(2));
  auto called = from[1].call<&pursuer::visit>(all);
  co_await std::move(called);
  co_await rt.quiescence();
  co_return leaver::num_taken == 1 ? 0 : 1;
}

TEST(device_view, are_taken_before_their_chare_ends) {
  for (const std::string protocol : {"auto", "packed", "staged"}) {
    for (const job_shape& s : {job_shape{2, 1}, job_shape{1, 2}, job_shape{1, 2, 4, 100}}) {
      SCOPED_TRACE(protocol + ", " + to_text(s));
      EXPECT_EQ(run_with(s, protocol, taken_at_last), 0);
    }
  }
}

/// Sends, and leaves it at that.
struct careless : chare<careless, index1d> {
  task<> send_all(array_proxy<wanderer> to, int messages) {
    data_ = buffer<double>(on_device(), 70'000);
    std::fill_n(data_.data(), data_.size(), 0.5);
    co_await barrier();
    for (int i = 0; i < messages; ++i)
      to[i % 2].send<&wanderer::take>(device_view<double>(data_.view(), streams().pack));
  }

 private:
  buffer<double> data_;
};

task<int> asked_for_nothing(runtime& rt) {
  auto to = rt.create_array<wanderer>(index1d(2));
  auto from = rt.create_array<careless>(index1d(2));
  constexpr int messages = 40;
  from.broadcast<&careless::send_all>(to, messages);
  co_await rt.quiescence();
  double total = 0;
  for (int i = 0; i < 2; ++i) {
    auto asked = to[i].call<&wanderer::total>();
    total += co_await std::move(asked);
  }
  co_return total == 2 * messages * 35'000.0 ? 0 : 1;
}

TEST(device_view, need_not_be_asked_when_it_was_read) {
  for (const job_shape& s : {job_shape{1, 1}, job_shape{2, 1}, job_shape{1, 2}, job_shape{2, 2}}) {
    SCOPED_TRACE(to_text(s));
    EXPECT_EQ(run_with(s, "auto", asked_for_nothing), 0);
  }
}

TEST(device_view, are_passed_on) { run_over_all_shapes(around, 4); }
TEST(device_view, are_arguments_of_calls) { run_over_all_shapes(asked); }

}  // namespace

}  // namespace device_view_test
