#include "imbrex/hetero/submission/own_operation.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>
#include <memory>
#include <vector>

#include "imbrex/base/error.h"
#include "unit/hetero/hetero_fixture.h"

namespace own_operation_test {

using namespace imbrex;
using namespace imbrex_test;
using testing::Each;
using testing::HasSubstr;
using testing::ThrowsMessage;

namespace {

constexpr std::uint8_t host = task_node::on_the_host;

/// Of the numbers T, the greatest common divisor or the like.
template <class T>
class operation : public own_operation {
 public:
  operation(int number, T identity, T (*both)(T, T)) : number_(number), identity_(identity), both_(both) {}
  std::span<const std::byte> identity() const override { return std::as_bytes(std::span(&identity_, 1)); }
  std::uint8_t runs_on() const override { return host; }
  std::function<void(const untyped_call&)> combining(std::size_t bytes) const override {
    return [both = both_, n = bytes / sizeof(T)](const untyped_call& c) {
      auto* const into = reinterpret_cast<T*>(c.objects[0]);
      const auto* const from = reinterpret_cast<const T*>(c.objects[1]);
      for (std::size_t i = 0; i < n; ++i) into[i] = both(into[i], from[i]);
    };
  }
  bool is(const own_operation& other) const override {
    const auto* const o = dynamic_cast<const operation*>(&other);
    return o != nullptr && o->number_ == number_;
  }

 private:
  int number_;
  T identity_;
  T (*both_)(T, T);
};

struct least {
  double value;
  long where;
  int unused[3];
};
least lesser(least a, least b) { return b.value < a.value ? b : a; }
short product_modulo(short a, short b) { return static_cast<short>(a * b % 31); }
long largest(long a, long b) { return std::max(a, b); }
int largest_of_ints(int a, int b) { return std::max(a, b); }

template <class T>
std::vector<T> elements_of(hetero_pe& on, const hetero_object<T>& x) {
  std::vector<T> found;
  submit(*on.domain, {}, [&found](std::span<const T> v) { found.assign(v.begin(), v.end()); }, x);
  on.pe.run();
  return found;
}

template <class T>
void submit_reducing(hetero_pe& on, const hetero_object<T>& x, const std::shared_ptr<const own_operation>& op,
                     T (*both)(T, T), T value, std::size_t parts) {
  submit_untyped(*on.domain, {}, host, {untyped_reduce(*x.data(), op, parts)},
                 [both, value, n = x.size()](const untyped_call& c) {
                   auto* const v = reinterpret_cast<T*>(c.objects[0]);
                   for (std::size_t i = 0; i < n; ++i) v[i] = both(v[i], value);
                 });
}

TEST(own_operation, brings_parts_together_of_elements_of_any_size) {
  for (std::size_t parts : {1, 3, 8}) {
    hetero_pe on(1);
    auto shorts = on.object<short>(7);
    auto longs = on.object<long>(5);
    auto ints = on.object<int>(5);
    auto places = on.object<least>(3);
    for (int i = 1; i <= 20; ++i) {
      // Each is another, but equal.
      submit_reducing<short>(on, shorts, std::make_shared<operation<short>>(1, short{1}, product_modulo),
                             product_modulo, static_cast<short>(i), parts);
      submit_reducing<long>(on, longs, std::make_shared<operation<long>>(2, -100L, largest), largest, i - 50, parts);
      submit_reducing<int>(on, ints, std::make_shared<operation<int>>(3, -100, largest_of_ints), largest_of_ints,
                           i - 50, parts);
      const least l{.value = (i - 7) * (i - 7) + 1.0, .where = i, .unused = {}};
      const least none{.value = std::numeric_limits<double>::infinity(), .where = 0, .unused = {}};
      submit_reducing<least>(on, places, std::make_shared<operation<least>>(4, none, lesser), lesser, l, parts);
    }
    long product = 1;
    for (int i = 1; i <= 20; ++i) product = product * i % 31;
    EXPECT_THAT(elements_of(on, shorts), Each(product));
    EXPECT_THAT(elements_of(on, longs), Each(-30));
    EXPECT_THAT(elements_of(on, ints), Each(-30));
    for (const least& l : elements_of(on, places)) EXPECT_EQ(l.where, 7);
    // With what it has; and one operation after another.
    submit_reducing<long>(on, longs, std::make_shared<operation<long>>(2, -100L, largest), largest, -20, parts);
    submit_reducing<long>(on, longs, std::make_shared<operation<long>>(5, -100L, largest), largest, -25, parts);
    EXPECT_THAT(elements_of(on, longs), Each(-20));
  }
}

TEST(own_operation, that_throws_makes_those_fail_that_use_the_object) {
  hetero_pe on;
  auto x = on.object<long>(3);
  const auto throws = [](long, long) -> long { throw comm_error("combining it"); };
  for (int i = 0; i < 2; ++i) {
    submit_reducing<long>(on, x, std::make_shared<operation<long>>(1, 0L, throws), largest, 1L, 8);
  }
  const hetero_task t = submit(*on.domain, {}, [](std::span<const long>) {}, x);
  on.pe.run();
  EXPECT_EQ(t.state(), task_state::failed);
  EXPECT_THROW(std::rethrow_exception(on.domain->failures().see_first()), error);
}

TEST(own_operation, refuses_what_cannot_be) {
  hetero_pe on;
  const auto x = on.object<char>(12);
  const auto op = std::make_shared<operation<long>>(1, 0L, largest);
  EXPECT_THAT([&] { untyped_reduce(*x.data(), op); }, ThrowsMessage<usage_error>(HasSubstr("an object of 12 bytes")));
  const auto y = on.object<long>(12);
  EXPECT_THAT([&] { untyped_reduce(*y.data(), op, 0); }, ThrowsMessage<usage_error>(HasSubstr("at least one part")));
}

}  // namespace

}  // namespace own_operation_test
