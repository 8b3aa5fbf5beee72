#include <gtest/gtest.h>
#include <imbrex/imbrex.h>

#include <array>
#include <cstdint>
#include <string>

#include "unit/object/job.h"

namespace derived_chare_test {

/// Chare classes derived from chare classes.
namespace {

namespace ix = imbrex;
using imbrex_test::run_over_all_shapes;

struct shape : ix::chare<shape, ix::index1d> {
  virtual double area() const { return 0; }
  void scale(double by) { factor *= by; }
  double measure() { return factor * factor * area(); }
  int where() { return pe(); }
  void go(int to) { migrate_to(to); }
  template <class Archive>
  void serialize(Archive& ar) {
    ar & factor;
  }
  double factor = 1;
};

struct square : shape {
  square() = default;
  explicit square(double a) : side(a), name(100, 'q') {}
  double area() const override { return side * side; }
  std::string label() { return name; }
  void all_measure() { contribute(measure(), ix::sum); }
  template <class Archive>
  void serialize(Archive& ar) {
    shape::serialize(ar);
    ar & side & name;
  }
  double side = 0;
  std::string name;
  std::array<double, 100> room{};  // an object of the size of the base would be written beyond its end
};

/// With a base in front of the chare and an alignment of its own.
struct tagged {
  virtual ~tagged() = default;
  std::uint64_t tag = 7;
};
struct alignas(64) wide : tagged, shape {
  double area() const override { return tag == 7 ? reinterpret_cast<std::uintptr_t>(this) % 64 + 1.0 : -1; }
};

ix::task<int> derived(ix::runtime& rt) {
  const auto squares = rt.create_array<square>(ix::index1d(6), 3.0);
  squares.broadcast<&square::scale>(2.0);
  squares.broadcast<&square::all_measure>();
  const double sum = co_await squares.reduction<double>();
  EXPECT_EQ(sum, 6 * 36.0);
  for (int i = 0; i < 6; ++i) {
    const int to = (i + 1) % rt.num_pes();
    co_await squares[i].call<&square::go>(to);
    co_await rt.quiescence();
    const int where = co_await squares[i].call<&square::where>();
    EXPECT_EQ(where, to);
    const double measured = co_await squares[i].call<&square::measure>();
    EXPECT_EQ(measured, 36.0);
    const std::string label = co_await squares[i].call<&square::label>();
    EXPECT_EQ(label, std::string(100, 'q'));
  }
  const auto wides = rt.create_array<wide>(ix::index1d(5));
  for (int i = 0; i < 5; ++i) {
    const double area = co_await wides[i].call<&wide::measure>();
    EXPECT_EQ(area, 1);
  }
  wides[3].erase();
  co_return 0;
}

TEST(derived_chare, is_made_moved_and_ended_whole) { run_over_all_shapes(derived); }

}  // namespace

}  // namespace derived_chare_test
