#include "imbrex/base/address_watch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <imbrex/imbrex.h>

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "unit/object/job.h"

namespace address_watch_test {

namespace {

namespace ix = imbrex;
using imbrex_test::job_shape;
using testing::HasSubstr;
using testing::Not;

/// Hides a pointer from the compiler's eyes.
class sealed {
 public:
  sealed() = default;
  explicit sealed(const int* p) : number_(1), pointer_(p) {}
  bool holds() const { return number_ != 0 && pointer_ != nullptr; }

 private:
  long number_ = 0;
  const int* pointer_ = nullptr;
};
/// The same, held by what the compiler sees through.
struct holder {
  double weight = 0;
  sealed inside;
};
/// Numbers only.
class counter {
 public:
  explicit counter(std::uint64_t n = 0) : n_(n), hash_(n * 0x9e3779b97f4a7c15) {}
  std::uint64_t get() const { return n_ + hash_ * 0; }

 private:
  std::uint64_t n_;
  std::uint64_t hash_;
};

struct taker : ix::chare<taker, ix::index1d> {
  void take(sealed) {}
  void take_all(std::vector<holder>) {}
  void take_numbers(std::vector<counter>) {}
  void take_array(std::array<std::int64_t, 40>) {}
};

ix::task<int> send_hidden_addresses(ix::runtime& rt) {
  auto takers = rt.create_group<taker>();
  static const int here = 3;
  for (int i = 0; i < 3; ++i) takers[rt.num_pes() - 1].send<&taker::take>(sealed(&here));
  takers[rt.num_pes() - 1].send<&taker::take_all>(std::vector<holder>{{1, sealed()}, {2, sealed(&here)}});
  std::vector<counter> numbers;
  for (std::uint64_t i = 0; i < 200; ++i) numbers.emplace_back(i * i * i);
  takers[rt.num_pes() - 1].send<&taker::take_numbers>(numbers);
  std::array<std::int64_t, 40> sums{};  // of which one is an address by chance
  sums[30] = static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(&here));
  takers[rt.num_pes() - 1].send<&taker::take_array>(sums);
  co_return 0;
}

TEST(address_watch, names_types_that_carry_addresses_between_ranks_of_one_process) {
  const auto [code, errors] = imbrex_test::run_and_listen({1, 2}, send_hidden_addresses);
  EXPECT_EQ(code, 0);
  EXPECT_THAT(errors, HasSubstr("sealed is copied to other ranks as bytes, and at byte 8"));
  EXPECT_THAT(errors, HasSubstr("holder is copied to other ranks as bytes, and at byte 16"));
  EXPECT_THAT(errors, Not(HasSubstr("counter")));
  EXPECT_THAT(errors, Not(HasSubstr("std::array")));
  EXPECT_EQ(errors.find("sealed is"), errors.rfind("sealed is")) << "once for each type: " << errors;
}

TEST(address_watch, is_off_without_such_ranks) {
  EXPECT_FALSE(ix::detail::address_watch::is_on());
  EXPECT_EQ(imbrex_test::run_and_listen({2, 1}, send_hidden_addresses).errors, "");
  EXPECT_FALSE(ix::detail::address_watch::is_on());
}

}  // namespace

}  // namespace address_watch_test
