#pragma once

#include <imbrex/base/memory/sanitizer.h>
#include <imbrex/imbrex.h>

#include <array>
#include <cstdint>
#include <cstring>
#include <numeric>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

/// Programs whose messages have large arguments, to run over any transport. A failed expectation is an exception, and
/// ends the job.
namespace imbrex_test {

using imbrex::any_sanitizer;

inline void expect(bool holds, const std::string& what) {
  if (!holds) throw std::runtime_error("expected " + what);
}

/// Around the size above which an array travels beside its message, and far from it; elements of 4 bytes.
inline constexpr std::array<std::size_t, 10> array_sizes{
    0, 1, 300, 4095, 4096, 4097, 5000, 20'000, any_sanitizer ? 30'000 : 70'000, any_sanitizer ? 70'000 : 300'000};

/// Counted once: a sanitizer looks at each number of a loop, and at a copy once.
inline const int* counted_from(int first) {
  static const std::vector<int> all = [] {
    std::vector<int> v(1'000'000);
    std::iota(v.begin(), v.end(), -100'000);
    return v;
  }();
  return all.data() + 100'000 + first;
}
inline std::vector<int> numbered(std::size_t size, int first) {
  return std::vector<int>(counted_from(first), counted_from(first) + size);
}
inline bool is_numbered(const std::vector<int>& v, std::size_t size, int first) {
  return v.size() == size && (size == 0 || std::memcmp(v.data(), counted_from(first), size * sizeof(int)) == 0);
}

/// Looks at what it reads while it reads it: never beside a message.
struct summed {
  std::vector<int> values;
  std::int64_t sum = std::accumulate(values.begin(), values.end(), std::int64_t{0});
  template <class Archive>
  void serialize(Archive& ar) {
    ar & values;
    if constexpr (Archive::is_loading) sum = std::accumulate(values.begin(), values.end(), std::int64_t{0});
  }
};

struct carrier : imbrex::chare<carrier, imbrex::index1d> {
  using wide = std::array<int, 5000>;

  /// \name Order: every element sends to every other
  ///@{
  void speak(int count, bool ordered) {
    for (int number = 0; number < count; ++number) {
      for (int to = 0; to < extent().x; ++to) {
        const std::size_t size = size_of(index(), to, number);
        array()[to].send<&carrier::hear>(index(), number, ordered, numbered(size, number));
        if (number % 3 == 0) array()[to].send<&carrier::hint>(index(), number, ordered);
      }
    }
  }
  void hear(int from, int number, bool ordered, std::vector<int> data) {
    expect(is_numbered(data, size_of(from, index(), number), number), "the data that were sent");
    next_.resize(static_cast<std::size_t>(extent().x));
    int& next = next_[static_cast<std::size_t>(from)];
    expect(!ordered || number == next, "the messages of one sender in their order");
    ++next;
  }
  void hint(int from, int number, bool ordered) {
    expect(!ordered || next_.at(static_cast<std::size_t>(from)) == number + 1,
           "the small message behind the large one");
  }
  int heard() { return std::accumulate(next_.begin(), next_.end(), 0); }
  ///@}

  void several(std::vector<int> a, std::string b, std::vector<std::vector<int>> c, std::optional<std::vector<char>> d,
               std::pair<wide, int> e, std::vector<std::string> f, summed g, std::vector<bool> h,
               std::vector<double> i) {
    expect(is_numbered(a, 30'000, 1), "a vector");
    expect(b == std::string(50'000, 'b'), "a string");
    expect(c.size() == 3 && is_numbered(c[0], 10'000, 2) && c[1].empty() && is_numbered(c[2], 9'000, 3),
           "a vector of vectors");
    expect(d && *d == std::vector<char>(40'000, 'd'), "an optional vector");
    expect(e.first == made_wide() && e.second == 5, "an array in a pair");
    expect(f == std::vector<std::string>{"", std::string(17'000, 'f'), "f"}, "a vector of strings");
    expect(g.sum == 4 * 20'000 && g.values.size() == 20'000, "a type with a serialize of its own");
    expect(h == std::vector<bool>(200'000, true), "a vector of bits");
    expect(i.empty(), "an empty vector");
    ++num_several_;
  }
  int num_several() const { return num_several_; }
  static wide made_wide() {
    wide w{};
    std::iota(w.begin(), w.end(), 7);
    return w;
  }

  std::vector<int> echo(std::vector<int> v) {
    for (int& x : v) ++x;
    return v;
  }
  imbrex::task<std::vector<std::string>> texts(std::size_t size) {
    auto [number] = co_await started(1);
    expect(number == 2, "the number");
    co_return std::vector<std::string>{std::string(size, 'x'), "y"};
  }
  imbrex::when<int, int> started;

  void shared(std::vector<int> v, int last) {
    expect(is_numbered(v, 60'000, 9), "what was broadcast");
    if (last != 0) contribute(numbered(50'000, index()), imbrex::sum);
  }
  imbrex::task<> all_sum() {
    auto all = allreduce(std::vector<std::int64_t>(30'000, index()), imbrex::sum);
    const auto sums = co_await std::move(all);
    const std::int64_t n = extent().x;
    expect(sums == std::vector<std::int64_t>(30'000, n * (n - 1) / 2), "the sums of all");
  }

  /// \name Moving about, with much to carry, while large messages come
  ///@{
  void wander(int steps, std::uint64_t seed) {
    if (baggage_.empty()) baggage_ = numbered(100'000, index());
    expect(is_numbered(baggage_, 100'000, index()), "all of an element to move");
    if (steps == 0) return;
    imbrex::random_sequence random(seed);
    const auto to = static_cast<int>(random.below(static_cast<std::uint64_t>(extent().x)));
    array()[to].send<&carrier::take>(numbered(30'000, steps), steps);
    array()[to].send<&carrier::take>(std::vector<int>(), 0);
    proxy().send<&carrier::wander>(steps - 1, random.next());
    migrate_to(static_cast<int>(random.below(static_cast<std::uint64_t>(num_pes()))));
  }
  void take(std::vector<int> v, int first) {
    expect(is_numbered(v, first == 0 ? 0 : 30'000, first), "what an element is sent while it moves");
    ++num_taken_;
  }
  int num_taken() const { return num_taken_; }
  ///@}

  /// \name Without an end
  ///@{
  void pass_on(std::vector<int> v) {
    ++num_taken_;
    array()[(index() + 1) % extent().x].send<&carrier::pass_on>(std::move(v));
    if (num_taken_ == 20 && index() == extent().x - 1) array()[0].send<&carrier::stop>();
  }
  void stop() {
    if (fails) throw std::runtime_error("on purpose");
    rt().exit(5);
  }
  void will_fail() { fails = true; }
  ///@}

  template <class Archive>
  void serialize(Archive& ar) {
    ar & next_ & num_several_ & baggage_ & num_taken_ & fails & started;
  }

 private:
  static std::size_t size_of(int from, int to, int number) {
    return array_sizes[static_cast<std::size_t>(from * 7 + to * 3 + number * 5 + number * number) % array_sizes.size()];
  }

  std::vector<int> next_;
  int num_several_ = 0;
  std::vector<int> baggage_;
  int num_taken_ = 0;
  bool fails = false;
};

inline imbrex::task<int> keep_order(imbrex::runtime& rt, bool ordered) {
  constexpr int count = any_sanitizer ? 10 : 40;
  const int n = 2 * rt.num_pes();
  auto carriers = rt.create_array<carrier>(imbrex::index1d(n));
  co_await rt.quiescence();
  carriers.broadcast<&carrier::speak>(count, ordered);
  co_await rt.quiescence();
  for (int i = 0; i < n; ++i) {
    const int heard = co_await carriers[i].call<&carrier::heard>();
    expect(heard == count * n, "all messages before quiescence");
  }
  co_return 0;
}

inline imbrex::task<int> carry_all_kinds(imbrex::runtime& rt) {
  constexpr int rounds = any_sanitizer ? 1 : 3;
  const int n = 2 * rt.num_pes();
  auto carriers = rt.create_array<carrier>(imbrex::index1d(n));
  for (int i = 0; i < n; ++i) {
    const std::vector<int> kept = numbered(30'000, 1);  // a copy travels
    for (int round = 0; round < rounds; ++round) {
      carriers[i].send<&carrier::several>(
          kept, std::string(50'000, 'b'), std::vector<std::vector<int>>{numbered(10'000, 2), {}, numbered(9'000, 3)},
          std::vector<char>(40'000, 'd'), std::pair(carrier::made_wide(), 5),
          std::vector<std::string>{"", std::string(17'000, 'f'), "f"}, summed{std::vector<int>(20'000, 4)},
          std::vector<bool>(200'000, true), std::vector<double>());
    }
    expect(is_numbered(kept, 30'000, 1), "what was copied to stay");
  }
  co_await rt.quiescence();
  for (int i = 0; i < n; ++i) {
    const int came = co_await carriers[i].call<&carrier::num_several>();
    expect(came == rounds, "all messages");
  }
  co_return 0;
}

inline imbrex::task<int> answer_at_length(imbrex::runtime& rt) {
  const int n = 2 * rt.num_pes();
  auto carriers = rt.create_array<carrier>(imbrex::index1d(n));
  for (int i = 0; i < n; ++i) {
    for (const std::size_t size : array_sizes) {
      auto question = carriers[i].call<&carrier::echo>(numbered(size, i));
      const std::vector<int> answer = co_await std::move(question);
      expect(is_numbered(answer, size, i + 1), "the answer to a call");
    }
    carriers[i].send<&carrier::started>(1, 2);
    const auto texts = co_await carriers[i].call<&carrier::texts>(100'000);
    expect(texts.size() == 2 && texts[0] == std::string(100'000, 'x') && texts[1] == "y", "texts");
  }
  co_return 0;
}

inline imbrex::task<int> speak_to_all(imbrex::runtime& rt) {
  const int n = 2 * rt.num_pes() + 1;
  auto carriers = rt.create_array<carrier>(imbrex::index1d(n));
  for (int round = 0; round < 4; ++round) {
    carriers.broadcast<&carrier::shared>(numbered(60'000, 9), round == 3 ? 1 : 0);
  }
  const auto sums = co_await carriers.reduction<std::vector<int>>();
  expect(sums.size() == 50'000, "as many sums as were contributed");
  for (std::size_t i = 0; i < sums.size(); ++i) {
    expect(sums[i] == static_cast<int>(i) * n + n * (n - 1) / 2, "the sum of what all contributed");
  }
  carriers.broadcast<&carrier::all_sum>();
  co_await rt.quiescence();
  co_return 0;
}

inline imbrex::task<int> move_about(imbrex::runtime& rt) {
  constexpr int steps = 12;
  const int n = 2 * rt.num_pes();
  auto carriers = rt.create_array<carrier>(imbrex::index1d(n));
  for (int i = 0; i < n; ++i) carriers[i].send<&carrier::wander>(steps, static_cast<std::uint64_t>(i + 1));
  co_await rt.quiescence();
  int taken = 0;
  for (int i = 0; i < n; ++i) taken += co_await carriers[i].call<&carrier::num_taken>();
  expect(taken == 2 * steps * n, "all messages to moving elements");
  co_return 0;
}

/// Ends by `exit` with code 5, or by an exception, while large messages are on their way.
inline imbrex::task<int> end_in_the_middle(imbrex::runtime& rt, bool fails) {
  const int n = 2 * rt.num_pes();
  auto carriers = rt.create_array<carrier>(imbrex::index1d(n));
  co_await rt.quiescence();
  if (fails) co_await carriers[0].call<&carrier::will_fail>();
  for (int i = 0; i < n; ++i) {
    for (const std::size_t size : array_sizes) carriers[i].send<&carrier::pass_on>(numbered(size, i));
  }
  co_await carriers.reduction<int>();  // for ever
  co_return 0;
}

}  // namespace imbrex_test
