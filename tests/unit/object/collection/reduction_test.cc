#include "imbrex/object/reduction.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <imbrex/imbrex.h>

#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "unit/object/job.h"

namespace reduction_test {

namespace {

namespace ix = imbrex;
using imbrex_test::run_over_all_shapes;
using testing::HasSubstr;

constexpr int n = 11;

/// The longest text, of equal ones the first by alphabet; a type and an operation of the user.
struct longest {
  std::string text;
  template <class Archive>
  void serialize(Archive& ar) {
    ar & text;
  }
};
struct keep_longest {
  void operator()(longest& into, longest&& from) const {
    if (from.text.size() > into.text.size() || (from.text.size() == into.text.size() && from.text < into.text)) {
      into = std::move(from);
    }
  }
};
struct add_modulo {
  int modulus = 1;
  void operator()(int& into, int&& from) const { into = (into + from) % modulus; }
};

struct element : ix::chare<element, ix::index1d> {
  void scalars() {
    const int i = index();
    contribute(i, ix::sum);
    contribute(1.0 + i % 2, ix::product);
    contribute(std::int64_t{5} - i, ix::min);
    contribute(0.5 * i, ix::max);
    contribute(i != 3, ix::logical_and);
    contribute(i == 3, ix::logical_or);
    contribute(0xffu ^ (1u << (i % 8)), ix::bit_and);
    contribute(1ull << i, ix::bit_or);
    contribute(i, ix::bit_xor);
    contribute(std::string(static_cast<std::size_t>(i), static_cast<char>('a' + i)), ix::max);
  }
  void ranges() {
    const int i = index();
    contribute(std::vector<int>{1, i, -i}, ix::sum);
    contribute(std::array<double, 2>{1.0 * i, -1.0 * i}, ix::max);
    contribute(std::vector<bool>{i == 2, true}, ix::logical_and);
    contribute(std::vector<int>(static_cast<std::size_t>(i), i), ix::concatenate);
    contribute(std::string(1, static_cast<char>('a' + i)), ix::concatenate);
    contribute(std::vector<std::vector<int>>{{i}, {i, i}}, ix::concatenate);
    contribute(std::vector<int>{}, ix::sum);
  }
  void of_the_user() {
    contribute(longest{std::string(static_cast<std::size_t>(index() % 5), static_cast<char>('z' - index()))},
               keep_longest{});
    contribute(static_cast<int>(index()), add_modulo{7});
  }
  void many(int count) {
    for (int k = 0; k < count; ++k) contribute(k + static_cast<int>(index()), ix::sum);
  }

  void to_entry(ix::element_proxy<element> one) { contribute(2, ix::sum, ix::deliver<&element::got>(one)); }
  void to_everybody() { contribute(3, ix::sum, ix::deliver<&element::got>(array())); }
  void to_slot() { contribute(static_cast<int>(index()), ix::max, ix::deliver<&element::slot>(array()[0])); }
  void presence() { contribute(ix::deliver<&element::all_came>(array()[n - 1])); }
  void got(int value) { received.push_back(value); }
  void all_came() { received.push_back(-1); }
  ix::task<int> wait_in_slot() {
    co_await slot(n - 1);
    co_return 1;
  }
  std::vector<int> take() { return std::exchange(received, {}); }

  ix::task<> together(int rounds) {
    for (int k = 0; k < rounds; ++k) {
      const int sum = co_await allreduce(k + static_cast<int>(index()), ix::sum);
      EXPECT_EQ(sum, n * k + n * (n - 1) / 2);
      co_await barrier();
      auto maximum = allreduce(static_cast<int>(index()) * k, ix::max);
      auto minimum = allreduce(std::vector<int>{k, static_cast<int>(index())}, ix::min);
      auto [high, low] = co_await ix::when_all(std::move(maximum), std::move(minimum));
      EXPECT_EQ(high, (n - 1) * k);
      EXPECT_EQ(low[1], 0);
    }
    contribute(1, ix::sum);
  }
  ix::task<> meet(ix::element_proxy<element> counter) {
    counter.send<&element::got>(1);
    co_await barrier();
    contribute(1, ix::sum);
  }

  ix::when<int> slot;
  std::vector<int> received;
};

ix::task<int> all_operations(ix::runtime& rt) {
  auto a = rt.create_array<element>(ix::index1d(n));
  a.broadcast<&element::scalars>();
  const int sum = co_await a.reduction<int>();
  EXPECT_EQ(sum, 55);
  const double product = co_await a.reduction<double>();
  EXPECT_EQ(product, 32);
  const std::int64_t min = co_await a.reduction<std::int64_t>();
  EXPECT_EQ(min, -5);
  const double max = co_await a.reduction<double>();
  EXPECT_EQ(max, 5);
  const bool all = co_await a.reduction<bool>();
  EXPECT_FALSE(all);
  const bool any = co_await a.reduction<bool>();
  EXPECT_TRUE(any);
  const unsigned both = co_await a.reduction<unsigned>();
  EXPECT_EQ(both, 0u);
  const unsigned long long either = co_await a.reduction<unsigned long long>();
  EXPECT_EQ(either, (1ull << n) - 1);
  const int parity = co_await a.reduction<int>();
  EXPECT_EQ(parity, 0 ^ 1 ^ 2 ^ 3 ^ 4 ^ 5 ^ 6 ^ 7 ^ 8 ^ 9 ^ 10);
  const std::string last = co_await a.reduction<std::string>();
  EXPECT_EQ(last, std::string(10, 'k'));
  co_return 0;
}

TEST(reduction, of_scalars_by_every_operation) { run_over_all_shapes(all_operations); }

ix::task<int> of_ranges(ix::runtime& rt) {
  auto a = rt.create_array<element>(ix::index1d(n));
  a.broadcast<&element::ranges>();
  const auto sums = co_await a.reduction<std::vector<int>>();
  EXPECT_THAT(sums, testing::ElementsAre(11, 55, -55));
  const auto highest = co_await a.reduction<std::array<double, 2>>();
  EXPECT_THAT(highest, testing::ElementsAre(10.0, 0.0));
  const auto bits = co_await a.reduction<std::vector<bool>>();
  EXPECT_THAT(bits, testing::ElementsAre(false, true));
  auto joined = co_await a.reduction<std::vector<int>>();
  std::sort(joined.begin(), joined.end());
  EXPECT_EQ(joined.size(), 55u);
  EXPECT_EQ(std::count(joined.begin(), joined.end(), 7), 7);
  auto text = co_await a.reduction<std::string>();
  std::sort(text.begin(), text.end());
  EXPECT_EQ(text, "abcdefghijk");
  const auto lists = co_await a.reduction<std::vector<std::vector<int>>>();
  EXPECT_EQ(lists.size(), 22u);
  const auto nothing = co_await a.reduction<std::vector<int>>();
  EXPECT_TRUE(nothing.empty());
  co_return 0;
}

TEST(reduction, of_vectors_arrays_and_texts) { run_over_all_shapes(of_ranges); }

ix::task<int> user_defined(ix::runtime& rt) {
  auto a = rt.create_array<element>(ix::index1d(n));
  a.broadcast<&element::of_the_user>();
  const longest one = co_await a.reduction<longest>();
  EXPECT_EQ(one.text, std::string(4, 'z' - 9));
  const int modulo = co_await a.reduction<int>();
  EXPECT_EQ(modulo, 55 % 7);
  co_return 0;
}

TEST(reduction, by_operations_and_types_of_the_user) { run_over_all_shapes(user_defined); }

ix::task<int> several_in_flight(ix::runtime& rt) {
  auto a = rt.create_array<element>(ix::index1d(n));
  a.broadcast<&element::many>(100);
  for (int k = 0; k < 50; ++k) {
    const int sum = co_await a.reduction<int>();
    EXPECT_EQ(sum, n * k + 55);
  }
  co_await rt.quiescence();  // the other results wait for who asks
  for (int k = 50; k < 100; ++k) {
    const int sum = co_await a.reduction<int>();
    EXPECT_EQ(sum, n * k + 55);
  }
  co_return 0;
}

TEST(reduction, may_be_under_way_many_times_and_keeps_the_order) { run_over_all_shapes(several_in_flight); }

ix::task<int> targets(ix::runtime& rt) {
  auto a = rt.create_array<element>(ix::index1d(n));
  auto waiting = a[0].call<&element::wait_in_slot>();
  a.broadcast<&element::to_entry>(a[4]);
  co_await rt.quiescence();  // every element contributes to them in the same order
  a.broadcast<&element::to_everybody>();
  co_await rt.quiescence();
  a.broadcast<&element::to_slot>();
  co_await rt.quiescence();
  a.broadcast<&element::presence>();
  const int slot_got = co_await std::move(waiting);
  EXPECT_EQ(slot_got, 1);
  co_await rt.quiescence();
  for (int i = 0; i < n; ++i) {
    const std::vector<int> received = co_await a[i].call<&element::take>();
    std::vector<int> expected{3 * n};
    if (i == 4) expected.push_back(2 * n);
    if (i == n - 1) expected.push_back(-1);
    EXPECT_THAT(received, testing::UnorderedElementsAreArray(expected)) << i;
  }
  co_return 0;
}

TEST(reduction, goes_to_an_element_a_slot_or_everybody) { run_over_all_shapes(targets); }

ix::task<int> all_together(ix::runtime& rt) {
  auto a = rt.create_array<element>(ix::index1d(n));
  a.broadcast<&element::together>(20);
  const int done = co_await a.reduction<int>();
  EXPECT_EQ(done, n);
  co_return 0;
}

TEST(allreduce, gives_all_elements_the_result) { run_over_all_shapes(all_together); }

ix::task<int> late_comer(ix::runtime& rt) {
  auto a = rt.create_array<element>(ix::index1d(n));
  for (int i = 0; i + 1 < n; ++i) a[i].send<&element::meet>(a[0]);
  co_await rt.quiescence();  // all but one stand at the barrier
  const std::vector<int> came = co_await a[0].call<&element::take>();
  EXPECT_EQ(came.size(), static_cast<std::size_t>(n - 1));
  a[n - 1].send<&element::meet>(a[0]);
  const int done = co_await a.reduction<int>();
  EXPECT_EQ(done, n);
  co_return 0;
}

TEST(barrier, waits_for_the_last) { run_over_all_shapes(late_comer); }

struct unequal : ix::chare<unequal, ix::index1d> {
  void lengths() { contribute(std::vector<int>(index() == 5 ? 3 : 2), ix::sum); }
  void types() {
    if (index() == 5) {
      contribute(1, ix::sum);
    } else {
      contribute(1.0, ix::sum);
    }
  }
  void doubles() { contribute(1.5, ix::sum); }
};

template <auto M>
ix::task<int> disagree(ix::runtime& rt) {
  auto a = rt.create_array<unequal>(ix::index1d(8));
  a.broadcast<M>();
  co_await a.reduction<double>();
  co_return 0;
}

TEST(reduction, of_unequal_lengths_is_an_error) {
  for (const imbrex_test::job_shape& s : {imbrex_test::job_shape{1, 1}, {3, 1}, {1, 2}}) {
    const auto [code, errors] = imbrex_test::run_and_listen(s, disagree<&unequal::lengths>);
    EXPECT_EQ(code, 70);
    EXPECT_THAT(errors, HasSubstr("lengths"));
    EXPECT_THAT(errors, HasSubstr("all elements contribute equally many"));
  }
}

TEST(reduction, of_different_types_is_an_error) {
  for (const imbrex_test::job_shape& s : {imbrex_test::job_shape{1, 1}, {3, 1}, {1, 2}}) {
    const auto [code, errors] = imbrex_test::run_and_listen(s, disagree<&unequal::types>);
    EXPECT_EQ(code, 70);
    EXPECT_THAT(errors, HasSubstr("elements disagree about reduction 0"));
  }
}

ix::task<int> expect_another_type(ix::runtime& rt) {
  auto a = rt.create_array<unequal>(ix::index1d(8));
  a.broadcast<&unequal::doubles>();
  const auto text = co_await a.reduction<std::string>();
  co_return static_cast<int>(text.size());
}

TEST(reduction, awaited_as_another_type_is_an_error) {
  for (const imbrex_test::job_shape& s : {imbrex_test::job_shape{1, 1}, {3, 1}, {1, 2}}) {
    const auto [code, errors] = imbrex_test::run_and_listen(s, expect_another_type);
    EXPECT_EQ(code, 70);
    EXPECT_THAT(errors, HasSubstr("double"));
    EXPECT_THAT(errors, HasSubstr("string"));
  }
}

}  // namespace

}  // namespace reduction_test
