#include <gtest/gtest.h>
#include <imbrex/imbrex.h>

#include <atomic>
#include <functional>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "unit/object/job.h"

namespace array_test {

struct particle_id {
  int species = 0;
  std::string name;
  friend bool operator==(const particle_id&, const particle_id&) = default;
  template <class Archive>
  void serialize(Archive& ar) {
    ar & species & name;
  }
};

}  // namespace array_test

template <>
struct std::hash<array_test::particle_id> {
  std::size_t operator()(const array_test::particle_id& i) const {
    return std::hash<std::string>{}(i.name) + static_cast<std::size_t>(i.species);
  }
};

namespace array_test {

namespace {

namespace ix = imbrex;
using imbrex_test::run_over_all_shapes;

template <class Index>
struct cell : ix::chare<cell<Index>, Index> {
  cell(int b, std::string n, std::vector<double> v) : base(b), name(std::move(n)), values(std::move(v)) {}
  std::tuple<Index, Index> place() { return {this->index(), this->extent()}; }
  std::tuple<int, std::string, std::vector<double>> arguments() { return {base, name, values}; }
  int base;
  std::string name;
  std::vector<double> values;
};

template <class Index>
ix::task<int> every_element_is_there(ix::runtime& rt, Index extent) {
  using C = cell<Index>;
  const std::vector<double> values{1, 2, 3};
  auto cells = rt.create_array<C>(extent, 5, "five", values);
  const auto expected = std::tuple<int, std::string, std::vector<double>>(5, "five", values);
  for (std::uint64_t l = 0; l < volume(extent); ++l) {
    const Index i = ix::from_linear(l, extent);
    EXPECT_EQ(ix::linear(i, extent), l);
    const auto place = co_await cells[i].template call<&C::place>();
    EXPECT_TRUE(std::get<0>(place) == i) << to_text(i);
    EXPECT_TRUE(std::get<1>(place) == extent);
    const auto arguments = co_await cells[i].template call<&C::arguments>();
    EXPECT_EQ(arguments, expected);
  }
  co_return 0;
}

TEST(array, of_one_dimension) { run_over_all_shapes(every_element_is_there<ix::index1d>, ix::index1d(13)); }
TEST(array, of_two_dimensions) { run_over_all_shapes(every_element_is_there<ix::index2d>, ix::index2d{3, 5}); }
TEST(array, of_three_dimensions) { run_over_all_shapes(every_element_is_there<ix::index3d>, ix::index3d{3, 1, 4}); }
TEST(array, may_have_fewer_elements_than_pes) {
  run_over_all_shapes(every_element_is_there<ix::index1d>, ix::index1d(1));
}

template <class Index>
struct named : ix::chare<named<Index>, Index> {
  explicit named(int number) : number_(number) {}
  std::tuple<Index, int> who() { return {this->index(), number_}; }
  int number_;
};

template <class Index>
ix::task<int> user_defined_indices(ix::runtime& rt, std::vector<Index> indices) {
  auto array = rt.create_array<named<Index>>(ix::empty_array<Index>());
  int number = 0;
  for (const Index& i : indices) array.insert(i, ++number);
  number = 0;
  for (const Index& i : indices) {
    const auto who = co_await array[i].template call<&named<Index>::who>();
    EXPECT_TRUE(std::get<0>(who) == i);
    EXPECT_EQ(std::get<1>(who), ++number);
  }
  co_return 0;
}

TEST(array, may_be_indexed_by_a_struct_of_the_user) {
  run_over_all_shapes(user_defined_indices<particle_id>,
                      std::vector<particle_id>{{1, "electron"}, {1, "proton"}, {2, "electron"}, {0, ""}});
}
TEST(array, may_be_indexed_by_strings) {
  run_over_all_shapes(user_defined_indices<std::string>,
                      std::vector<std::string>{"a", "b", "a rather long name that is not stored in place", ""});
}

struct outside : ix::chare<outside, ix::index2d> {
  void nothing() {}
  void reach_out() { array()[{index().x, -1}].send<&outside::nothing>(); }
};

template <class Start>
std::string what_is_thrown(Start start) {
  auto caught = std::make_shared<std::string>();
  struct run {
    static ix::task<int> guarded(ix::runtime& rt, Start inner, std::shared_ptr<std::string> text) {
      try {
        co_await inner(rt);
      } catch (const ix::usage_error& e) {
        *text = e.what();
      }
      co_return 0;
    }
  };
  EXPECT_EQ(imbrex_test::run_job_with({2, 2}, &run::guarded, start, caught), 0);
  return *caught;
}

TEST(array, has_no_element_outside_its_extent) {
  const std::string text = what_is_thrown(+[](ix::runtime& rt) -> ix::task<int> {
    auto a = rt.create_array<outside>(ix::index2d{3, 4});
    co_await rt.quiescence();
    a[{3, 0}].send<&outside::nothing>();
    co_return 0;
  });
  EXPECT_NE(text.find("outside has no element (3, 0): its extent is (3, 4)"), std::string::npos) << text;
}

TEST(array, says_so_to_the_caller_too) {
  const std::string text = what_is_thrown(+[](ix::runtime& rt) -> ix::task<int> {
    auto a = rt.create_array<outside>(ix::index2d{3, 4});
    co_await a[{2, 3}].call<&outside::reach_out>();
    co_return 0;
  });
  EXPECT_NE(text.find("(2, -1)"), std::string::npos) << text;
}

TEST(array, of_no_elements_is_refused) {
  const std::string text = what_is_thrown(+[](ix::runtime& rt) -> ix::task<int> {
    rt.create_array<outside>(ix::index2d{3, 0});
    co_return 0;
  });
  EXPECT_NE(text.find("extent (3, 0) has no elements"), std::string::npos) << text;
}

struct member : ix::chare<member, ix::index1d> {
  std::vector<int> where() { return {index(), pe(), rank(), num_pes()}; }
  int through_local(ix::array_proxy<member> group) { return group.local(pe())->calls++ + 100 * index(); }
  int calls = 0;
};

ix::task<int> one_on_every_pe(ix::runtime& rt) {
  auto group = rt.create_group<member>();
  for (int i = 0; i < rt.num_pes(); ++i) {
    const std::vector<int> where = co_await group[i].call<&member::where>();
    const std::vector<int> expected{i, i, i / rt.pes_per_rank(), rt.num_pes()};
    EXPECT_EQ(where, expected);
    const int first = co_await group[i].call<&member::through_local>(group);
    const int second = co_await group[i].call<&member::through_local>(group);
    EXPECT_EQ(first, 100 * i);
    EXPECT_EQ(second, 100 * i + 1);
  }
  EXPECT_EQ(group.local(rt.num_pes() - 1) != nullptr, rt.num_pes() == 1);
  co_return 0;
}

TEST(group, has_one_element_on_every_pe) { run_over_all_shapes(one_on_every_pe); }

struct single : ix::chare<single> {
  explicit single(std::string t) : text(std::move(t)) {}
  std::tuple<std::string, int> where() { return {text, pe()}; }
  ix::element_proxy<single> make_another() { return rt().create_on<single>(pe(), text + "'s child"); }
  std::string text;
};

ix::task<int> singletons(ix::runtime& rt) {
  auto here = rt.create_on<single>(0, "here");
  const auto place = co_await here.call<&single::where>();
  EXPECT_EQ(place, std::tuple(std::string("here"), 0));
  for (int i = 0; i < rt.num_pes(); ++i) {
    auto there = rt.create_on<single>(i, "there");
    const auto of_there = co_await there.call<&single::where>();
    EXPECT_EQ(of_there, std::tuple(std::string("there"), i));
    auto child = co_await there.call<&single::make_another>();
    const auto of_child = co_await child.call<&single::where>();
    EXPECT_EQ(of_child, std::tuple(std::string("there's child"), i));
  }
  co_return 0;
}

TEST(singleton, lives_where_it_was_created_and_may_create_others) { run_over_all_shapes(singletons); }

TEST(singleton, on_a_pe_that_does_not_exist_is_refused) {
  const std::string text = what_is_thrown(+[](ix::runtime& rt) -> ix::task<int> {
    rt.create_on<single>(4, "nowhere");
    co_return 0;
  });
  EXPECT_NE(text.find("PE 4"), std::string::npos) << text;
  EXPECT_NE(text.find("0 to 3"), std::string::npos) << text;
}

// Every element made a proxy to the one before it, while the array may not exist everywhere yet.
struct early : ix::chare<early, ix::index1d> {
  early() {
    if (index() > 0) array()[index() - 1].send<&early::greet>(static_cast<int>(index()));
    contribute(1, ix::sum);
  }
  void greet(int from) {
    EXPECT_EQ(from, index() + 1);
    contribute(1, ix::sum);
  }
};

ix::task<int> use_at_once(ix::runtime& rt) {
  auto a = rt.create_array<early>(ix::index1d(10));
  a[9].send<&early::greet>(10);
  const int constructed = co_await a.reduction<int>();
  const int greeted = co_await a.reduction<int>();
  EXPECT_EQ(constructed, 10);
  EXPECT_EQ(greeted, 10);
  co_return 0;
}

TEST(array, can_be_used_before_it_exists_everywhere) { run_over_all_shapes(use_at_once); }

std::atomic<int> alive{0};
struct alignas(64) aligned : ix::chare<aligned, ix::index1d> {
  aligned() { ++alive; }
  ~aligned() override { --alive; }
  bool is_aligned() { return reinterpret_cast<std::uintptr_t>(this) % 64 == 0; }
};

ix::task<int> over_aligned(ix::runtime& rt) {
  auto a = rt.create_array<aligned>(ix::index1d(9));
  for (int i = 0; i < 9; ++i) {
    const bool yes = co_await a[i].call<&aligned::is_aligned>();
    EXPECT_TRUE(yes);
  }
  EXPECT_EQ(alive, 9);
  co_return 0;
}

TEST(array, respects_the_alignment_of_its_chares_and_destroys_them) {
  run_over_all_shapes(over_aligned);
  EXPECT_EQ(alive, 0);
}

TEST(chare, cannot_be_constructed_by_hand) { EXPECT_THROW(aligned{}, ix::usage_error); }

}  // namespace

}  // namespace array_test
