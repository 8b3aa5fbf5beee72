#include <gtest/gtest.h>

#include "unit/hetero/hetero_fixture.h"

namespace hetero_options_test {

namespace {

using imbrex::access_mode;
using imbrex::hetero_options;

/// Adds on both devices in turns, so that data travel both ways, and takes copies away in between.
imbrex::task<> travel(imbrex_test::hetero_pe* pe) {
  auto x = pe->object<double>(64);
  auto y = pe->object<double>(64);
  const auto zeros = [](std::span<double> v) { std::fill(v.begin(), v.end(), 0.0); };
  submit(*pe->domain, {}, zeros, write(x));
  submit(*pe->domain, {}, zeros, write(y));
  for (int i = 0; i < 20; ++i) {
    submit(*pe->domain, {.on = imbrex::device_kind::host, .number = i % 2}, imbrex_test::add_on_device(1), x);
    auto last =
        submit(*pe->domain, {.on = imbrex::device_kind::host, .number = (i + 1) % 2}, imbrex_test::add_on_device(2), y);
    if (i % 5 == 0) {
      co_await last;
      y.evict();
    }
  }
  auto access_x = x.host(access_mode::read);
  const auto view_x = co_await access_x;
  auto access_y = y.host(access_mode::read);
  const auto view_y = co_await access_y;
  EXPECT_EQ(view_x[63], 20);
  EXPECT_EQ(view_y[0], 40);
}

class hetero_options_test : public testing::TestWithParam<hetero_options> {};

TEST_P(hetero_options_test, gives_the_same_data) {
  imbrex_test::hetero_pe pe(2, 1 << 20, GetParam());
  pe.run(travel(&pe));
  for (std::size_t i = 1; i < pe.domain->places().size(); ++i) EXPECT_EQ(pe.domain->places()[i]->used(), 0U);
}

INSTANTIATE_TEST_SUITE_P(switched_off, hetero_options_test,
                         testing::Values(hetero_options{}, hetero_options{.pinned_host_copies = false},
                                         hetero_options{.pooled_memory = false},
                                         hetero_options{.transfer_lanes = false},
                                         hetero_options{.compute_lanes = 1,
                                                        .pinned_host_copies = false,
                                                        .pooled_memory = false,
                                                        .transfer_lanes = false}));

}  // namespace

}  // namespace hetero_options_test
