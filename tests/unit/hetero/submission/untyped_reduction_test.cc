#include "imbrex/hetero/submission/untyped_reduction.h"

#include <gmock/gmock.h>

#include <vector>

#include "imbrex/base/error.h"
#include "unit/hetero/hetero_fixture.h"

namespace untyped_reduction_test {

using namespace imbrex;
using namespace imbrex_test;
using testing::Each;
using testing::HasSubstr;
using testing::ThrowsMessage;

namespace {

constexpr std::uint8_t host = task_node::on_the_host;

template <class T>
std::vector<T> elements_of(hetero_pe& on, const hetero_object<T>& x) {
  std::vector<T> found;
  submit(*on.domain, {}, [&found](std::span<const T> v) { found.assign(v.begin(), v.end()); }, x);
  on.pe.run();
  return found;
}

/// A task changes the elements of what it reduces into, one by one.
template <class T, class F>
void submit_reducing(hetero_pe& on, const hetero_object<T>& x, untyped_use part, F change) {
  submit_untyped(*on.domain, {}, host, {part}, [change, n = x.size()](const untyped_call& c) {
    auto* const v = reinterpret_cast<T*>(c.objects[0]);
    for (std::size_t i = 0; i < n; ++i) v[i] = change(v[i]);
  });
}

template <class T>
void reduces(number_type numbers) {
  hetero_pe on(1);
  auto x = on.object<T>(5), y = on.object<T>(5), z = on.object<T>(5);
  for (int i = 1; i <= 20; ++i) {
    const auto n = static_cast<T>(i);
    submit_reducing<T>(on, x, untyped_reduce(*x.data(), numbers, element_operation::sum),
                       [n](T v) { return T(v + n); });
    submit_reducing<T>(on, y, untyped_reduce(*y.data(), numbers, element_operation::min),
                       [n](T v) { return std::min(v, T(n + 3)); });
    submit_reducing<T>(on, z, untyped_reduce(*z.data(), numbers, element_operation::max, 2),
                       [n](T v) { return std::max(v, n); });
  }
  EXPECT_THAT(elements_of(on, x), Each(T(210)));
  EXPECT_THAT(elements_of(on, y), Each(T(4)));
  EXPECT_THAT(elements_of(on, z), Each(T(20)));
  // With what it has; and one operation after another.
  submit_reducing<T>(on, x, untyped_reduce(*x.data(), numbers, element_operation::sum), [](T v) { return T(v + 1); });
  submit_reducing<T>(on, x, untyped_reduce(*x.data(), numbers, element_operation::product),
                     [](T v) { return T(v * 2); });
  EXPECT_THAT(elements_of(on, x), Each(T(422)));
}

TEST(untyped_reduction, gives_what_the_operation_gives_for_each_type) {
  reduces<int>(number_type::int32);
  reduces<unsigned>(number_type::uint32);
  reduces<long>(number_type::int64);
  reduces<unsigned long>(number_type::uint64);
  reduces<float>(number_type::float32);
  reduces<double>(number_type::float64);
}

TEST(untyped_reduction, of_an_object_that_the_task_uses_besides_is_refused) {
  hetero_pe on;
  auto x = on.object<double>(5);
  submit(*on.domain, {}, [](std::span<double> v) { std::ranges::fill(v, 1.0); }, write(x));
  const auto part = [&](const hetero_object<double>& of, element_operation by) {
    return untyped_reduce(*of.data(), number_type::float64, by);
  };
  const auto submit_both = [&](const untyped_use& a, const untyped_use& b) {
    submit_untyped(*on.domain, {.name = "both"}, host, {a, b}, [](const untyped_call&) { FAIL(); });
  };
  const untyped_use all{x.data(), access_mode::read_write};
  EXPECT_THAT([&] { submit_both(part(x, element_operation::sum), all); },
              ThrowsMessage<usage_error>(HasSubstr("task 'both' reduces into the object of argument 0")));
  EXPECT_THROW(submit_both(all, part(x, element_operation::sum)), usage_error);
  EXPECT_THROW(submit_both(part(x, element_operation::sum), part(x, element_operation::max)), usage_error);
  EXPECT_THROW(submit_both(part(x.slice(1, 2), element_operation::sum), all), usage_error);
  EXPECT_THAT(elements_of(on, x), Each(1.0));
}

TEST(untyped_reduction, of_bits) {
  hetero_pe on;
  auto x = on.object<unsigned>(3), y = on.object<unsigned>(3);
  for (unsigned bit : {1U, 4U, 16U}) {
    submit_reducing<unsigned>(on, x, untyped_reduce(*x.data(), number_type::uint32, element_operation::bit_or),
                              [bit](unsigned v) { return v | bit; });
    submit_reducing<unsigned>(on, y, untyped_reduce(*y.data(), number_type::uint32, element_operation::bit_and),
                              [bit](unsigned v) { return v & ~bit; });
  }
  EXPECT_THAT(elements_of(on, x), Each(21U));
  EXPECT_THAT(elements_of(on, y), Each(~21U));
}

TEST(untyped_reduction, refuses_what_cannot_be) {
  hetero_pe on;
  const auto x = on.object<float>(3);
  const auto reduce_as = [&](number_type t, element_operation op, std::size_t parts) {
    return [&x, t, op, parts] { untyped_reduce(*x.data(), t, op, parts); };
  };
  using enum element_operation;
  EXPECT_THAT(reduce_as(number_type::float64, sum, 8), ThrowsMessage<usage_error>(HasSubstr("of 12 bytes")));
  EXPECT_THAT(reduce_as(number_type::float32, bit_or, 8),
              ThrowsMessage<usage_error>(HasSubstr("reduce whole numbers")));
  EXPECT_THAT(reduce_as(number_type::float32, none, 8), ThrowsMessage<usage_error>(HasSubstr("by no operation")));
  EXPECT_THAT(reduce_as(number_type::float32, sum, 0), ThrowsMessage<usage_error>(HasSubstr("at least one part")));
}

}  // namespace

}  // namespace untyped_reduction_test
