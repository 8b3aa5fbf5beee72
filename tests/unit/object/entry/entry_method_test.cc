#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <imbrex/imbrex.h>

#include <array>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <variant>
#include <vector>

#include "unit/object/job.h"

namespace entry_method_test {

namespace {

namespace ix = imbrex;
using imbrex_test::run_over_all_shapes;

enum class colour : std::uint8_t { red, green, blue };

struct measurement {
  std::string name;
  std::vector<std::pair<int, double>> samples;
  std::optional<std::string> note;
  template <class Archive>
  void serialize(Archive& ar) {
    ar & name & samples & note;
  }
  friend bool operator==(const measurement&, const measurement&) = default;
};

/// Can be moved, not copied, as a buffer can.
class payload {
 public:
  payload() = default;
  explicit payload(int n) : bytes_(std::make_unique<std::vector<int>>(static_cast<std::size_t>(n), n)) {}
  int checksum() const { return bytes_ ? static_cast<int>(bytes_->size()) * bytes_->back() : -1; }
  template <class Archive>
  void serialize(Archive& ar) {
    ar & bytes_;
  }

 private:
  std::unique_ptr<std::vector<int>> bytes_;
};

using nested = std::map<std::string, std::vector<std::vector<std::string>>>;
using choice = std::variant<int, std::string>;

measurement a_measurement() { return {"flow", {{1, 0.5}, {2, 0.25}}, "calibrated"}; }
nested a_nested() { return {{"a", {{"1", "2"}, {}, {"a text too long to be stored in place, I hope"}}}, {"b", {}}}; }

struct receiver : ix::chare<receiver, ix::index1d> {
  void nothing() { ++calls; }
  void numbers(int i, const double& d, colour c, std::array<int, 3> a, bool b) {
    EXPECT_EQ(i, -7);
    EXPECT_EQ(d, 2.5);
    EXPECT_EQ(c, colour::blue);
    EXPECT_EQ(a[2], 9);
    EXPECT_TRUE(b);
    ++calls;
  }
  void texts(std::string s, const std::vector<std::string>& list, std::vector<bool> bits) {
    EXPECT_EQ(s, "text");
    EXPECT_THAT(list, testing::ElementsAre("x", "", "y"));
    EXPECT_THAT(bits, testing::ElementsAre(true, false, true));
    ++calls;
  }
  void types_of_the_user(measurement m, nested&& n, choice c, std::tuple<int, std::string> t) {
    EXPECT_EQ(m, a_measurement());
    EXPECT_EQ(n, a_nested());
    EXPECT_EQ(std::get<std::string>(c), "second");
    EXPECT_EQ(std::get<1>(t), "t");
    ++calls;
  }
  void moved(std::unique_ptr<int> p, payload by_value, payload&& by_reference) {
    EXPECT_EQ(*p, 5);
    EXPECT_EQ(by_value.checksum(), 100);
    EXPECT_EQ(by_reference.checksum(), 400);
    ++calls;
  }
  void large(const std::vector<double>& values) {
    EXPECT_EQ(values.size(), 300'000u);
    EXPECT_EQ(values.back(), 299'999.0);
    ++calls;
  }
  void empty(const std::vector<double>& v, const std::string& s) {
    EXPECT_TRUE(v.empty() && s.empty());
    ++calls;
  }
  void proxies(ix::array_proxy<receiver> all, ix::element_proxy<receiver> one) {
    EXPECT_EQ(one.index(), 0);
    all[one.index()].send<&receiver::nothing>();
    one.send<&receiver::nothing>();
    ++calls;
  }
  int count() { return calls; }
  int calls = 0;
};

void send_everything_to(const ix::element_proxy<receiver>& to, const ix::array_proxy<receiver>& all) {
  to.send<&receiver::nothing>();
  to.send<&receiver::numbers>(-7, 2.5, colour::blue, std::array<int, 3>{7, 8, 9}, true);
  std::string kept = "text";
  to.send<&receiver::texts>(kept, std::vector<std::string>{"x", "", "y"}, std::vector<bool>{true, false, true});
  EXPECT_EQ(kept, "text");
  to.send<&receiver::types_of_the_user>(a_measurement(), a_nested(), "second", std::tuple(1, "t"));
  to.send<&receiver::moved>(std::make_unique<int>(5), payload(10), payload(20));
  std::vector<double> values(300'000);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<double>(i);
  to.send<&receiver::large>(std::move(values));
  to.send<&receiver::empty>(std::vector<double>{}, "");
  to.send<&receiver::proxies>(all, all[0]);
}
constexpr int num_kinds = 8;

ix::task<int> all_kinds_of_arguments(ix::runtime& rt) {
  auto receivers = rt.create_array<receiver>(ix::index1d(6));
  for (int i = 1; i < 6; ++i) send_everything_to(receivers[i], receivers);
  co_await rt.quiescence();
  for (int i = 1; i < 6; ++i) {
    const int calls = co_await receivers[i].call<&receiver::count>();
    EXPECT_EQ(calls, num_kinds);
  }
  const int at_first = co_await receivers[0].call<&receiver::count>();
  EXPECT_EQ(at_first, 10);
  co_return 0;
}

TEST(send, carries_all_kinds_of_arguments) { run_over_all_shapes(all_kinds_of_arguments); }

ix::task<int> broadcast_all_kinds(ix::runtime& rt) {
  auto receivers = rt.create_array<receiver>(ix::index1d(11));
  receivers.broadcast<&receiver::nothing>();
  receivers.broadcast<&receiver::numbers>(-7, 2.5, colour::blue, std::array<int, 3>{7, 8, 9}, true);
  receivers.broadcast<&receiver::types_of_the_user>(a_measurement(), a_nested(), "second", std::tuple(1, "t"));
  std::vector<double> values(300'000);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<double>(i);
  receivers.broadcast<&receiver::large>(values);
  co_await rt.quiescence();
  for (int i = 0; i < 11; ++i) {
    const int calls = co_await receivers[i].call<&receiver::count>();
    EXPECT_EQ(calls, 4);
  }
  co_return 0;
}

TEST(broadcast, gives_every_element_a_copy) { run_over_all_shapes(broadcast_all_kinds); }

struct talker : ix::chare<talker, ix::index1d> {
  void speak(int n) {
    for (int i = 0; i < n; ++i) array()[(index() + 1) % extent()].send<&talker::hear>(static_cast<int>(index()), i);
    array().broadcast<&talker::shout>(static_cast<int>(index()));
  }
  void hear(int from, int number) {
    EXPECT_EQ((from + 1) % extent(), index());
    EXPECT_TRUE(number == heard || !ordered) << number;
    ++heard;
  }
  void shout(int from) { shouts += from; }
  std::vector<int> totals() { return {heard, shouts}; }
  void relax_order() { ordered = false; }
  bool ordered = true;
  int heard = 0;
  int shouts = 0;
};

ix::task<int> everybody_talks(ix::runtime& rt) {
  auto talkers = rt.create_array<talker>(ix::index1d(7));
  if (rt.options().schedule_seed != 0) talkers.broadcast<&talker::relax_order>();
  co_await rt.quiescence();
  talkers.broadcast<&talker::speak>(50);
  co_await rt.quiescence();
  const std::vector<int> expected{50, 21};
  for (int i = 0; i < 7; ++i) {
    const std::vector<int> totals = co_await talkers[i].call<&talker::totals>();
    EXPECT_EQ(totals, expected);
  }
  co_return 0;
}

TEST(send, keeps_the_order_between_two_elements) { run_over_all_shapes(everybody_talks); }

/// Gets messages before it, or its PE's part of the array, exists.
struct early : ix::chare<early, ix::index1d> {
  void take(int n) {
    EXPECT_TRUE(n == next || rt().options().schedule_seed != 0) << n;
    ++next;
  }
  int count() { return next; }
  int next = 0;
};

ix::task<int> send_before_creation(ix::runtime& rt) {
  constexpr int num_messages = 30;
  auto a = rt.create_array<early>(ix::placed(ix::index1d(rt.num_pes()), ix::map::round_robin{}));
  auto b = rt.create_array<early>(ix::empty_array<ix::index1d>());
  for (int n = 0; n < num_messages; ++n) {
    for (int i = 0; i < rt.num_pes(); ++i) a[i].send<&early::take>(n);
    for (int i = 0; i < rt.num_pes(); ++i) b[i].send<&early::take>(n);
    if (n == num_messages / 2) {
      for (int i = 0; i < rt.num_pes(); ++i) b.insert(i);
    }
  }
  co_await rt.quiescence();
  for (int i = 0; i < rt.num_pes(); ++i) {
    const int in_a = co_await a[i].call<&early::count>();
    const int in_b = co_await b[i].call<&early::count>();
    EXPECT_EQ(in_a, num_messages);
    EXPECT_EQ(in_b, num_messages);
  }
  co_return 0;
}

TEST(send, keeps_the_order_of_messages_that_wait_for_their_element) { run_over_all_shapes(send_before_creation); }

struct urgent : ix::chare<urgent> {
  void note(int level) { levels.push_back(level); }
  std::vector<int> list() { return levels; }
  void fill() {
    const auto self = proxy();
    for (int level : {3, -2, 0, 7, -8, 0, -2, 100, -100}) self.with(ix::priority(level)).send<&urgent::note>(level);
  }
  std::vector<int> levels;
};

ix::task<int> by_priority(ix::runtime& rt, int pe) {
  auto chare = rt.create_on<urgent>(pe);
  co_await chare.call<&urgent::fill>();
  co_await rt.quiescence();
  const std::vector<int> list = co_await chare.call<&urgent::list>();
  const std::vector<int> expected{-8, -100, -2, -2, 0, 0, 3, 7, 100};
  EXPECT_EQ(list, expected);
  co_return 0;
}

TEST(priority, decides_what_runs_first) {
  for (const imbrex_test::job_shape& s : {imbrex_test::job_shape{1, 1}, {2, 1}, {1, 2}}) {
    EXPECT_EQ(imbrex_test::run_job_with(s, by_priority, s.pes * s.ranks - 1), 0);
  }
}

/// Several levels of coroutines, each with its own objects to give back.
struct climber : ix::chare<climber, ix::index1d> {
  ix::task<> climb(int levels, ix::element_proxy<climber> other, std::string luggage) {
    const std::string sum = co_await ascend(levels, other, luggage);
    EXPECT_EQ(sum.size(), luggage.size() * static_cast<std::size_t>(levels + 1));
    contribute(static_cast<int>(sum.size()), ix::sum);
  }
  ix::task<std::string> ascend(int levels, ix::element_proxy<climber> other, std::string luggage) {
    const int two = co_await other.call<&climber::twice>(levels);
    EXPECT_EQ(two, 2 * levels);
    if (levels == 0) co_return luggage;
    std::string above = co_await ascend(levels - 1, other, luggage);
    co_return above + luggage;
  }
  int twice(int n) { return 2 * n; }
};

ix::task<int> climb_all(ix::runtime& rt) {
  auto climbers = rt.create_array<climber>(ix::index1d(6));
  for (int i = 0; i < 6; ++i) climbers[i].send<&climber::climb>(10, climbers[5 - i], "0123456789");
  const int total = co_await climbers.reduction<int>();
  EXPECT_EQ(total, 6 * 110);
  co_return 0;
}

TEST(coroutine, may_await_other_coroutines_which_wait) { run_over_all_shapes(climb_all); }

struct base_chare {
  virtual ~base_chare() = default;
  virtual int kind() const { return 1; }
};
struct derived : ix::chare<derived, ix::index1d>, base_chare {
  int kind() const override { return 2; }
  int quiet() const noexcept { return 3; }
  static int helper() { return 4; }
};

ix::task<int> methods_of_many_kinds(ix::runtime& rt) {
  auto a = rt.create_array<derived>(ix::index1d(4));
  const int kind = co_await a[3].call<&derived::kind>();
  const int quiet = co_await a[3].call<&derived::quiet>();
  EXPECT_EQ(kind, 2);
  EXPECT_EQ(quiet, 3);
  co_return 0;
}

TEST(entry_method, may_be_const_noexcept_or_virtual) { run_over_all_shapes(methods_of_many_kinds); }

}  // namespace

}  // namespace entry_method_test
