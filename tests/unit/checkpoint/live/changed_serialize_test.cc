#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <imbrex/imbrex.h>

#include <algorithm>
#include <span>
#include <string>
#include <vector>

#include "unit/checkpoint/live/job_with_checkpoints.h"

namespace changed_serialize_test {

// A program that reads its checkpoint otherwise than it was written is told so: by whose state, and where it lies.
namespace {

namespace ix = imbrex;
using namespace imbrex_test;
using testing::AllOf;
using testing::HasSubstr;

enum class change { none, more, fewer, other_type };
change of_cell = change::none, of_program = change::none;

template <class Archive>
void serialize_changed(Archive& ar, change c, std::vector<int>& values, int& number, double& extra) {
  ar & values;
  if (c == change::other_type) {
    auto as_float = static_cast<float>(number);
    ar & as_float;
    number = static_cast<int>(as_float);
  } else if (c != change::fewer) {
    ar & number;
  }
  if (c == change::more) ar & extra;
}

struct cell : ix::chare<cell, ix::index1d> {
  std::vector<int> values{1, 2, 3};
  int number = 7;
  double extra = 0;
  void give() { contribute(number, ix::sum); }
  template <class Archive>
  void serialize(Archive& ar) {
    serialize_changed(ar, of_cell, values, number, extra);
  }
};

/// Of a buffer, or an object, the elements' type.
template <template <class> class Data>
struct holder : ix::chare<holder<Data>, ix::index1d> {
  Data<int> numbers;
  Data<float> others;
  template <class Archive>
  void serialize(Archive& ar) {
    of_cell == change::other_type ? ar& others : ar& numbers;
  }
  void nothing() { this->contribute(1, ix::sum); }
};
/// What tasks have written.
struct filled : ix::chare<filled, ix::index1d> {
  ix::hetero_object<int> numbers{100};
  int errors = 1;
  filled() {
    ix::submit({}, [](std::span<int> x) { std::ranges::fill(x, 3); }, ix::write(numbers));
  }
  void nothing() { contribute(errors, ix::sum); }
  template <class Archive>
  void serialize(Archive& ar) {
    ar & numbers & errors;
  }
};
template <class C>
struct holding {
  ix::array_proxy<C> all;
  ix::task<int> start(ix::runtime& rt) {
    all = rt.create_array<C>(ix::index1d(2));
    auto made = rt.checkpoint();
    co_await made;
    co_return 0;
  }
  ix::task<int> restart(ix::runtime&) {
    all.template broadcast<&C::nothing>();
    auto sum = all.template reduction<int>();
    co_return co_await sum == 2 ? 0 : 3;
  }
  template <class Archive>
  void serialize(Archive& ar) {
    ar & all;
  }
};

struct program {
  ix::array_proxy<cell> cells;
  std::vector<int> values;
  int number = 5;
  double extra = 0;

  ix::task<int> start(ix::runtime& rt) {
    cells = rt.create_array<cell>(ix::index1d(4));
    auto made = rt.checkpoint();
    co_await made;
    co_return 0;
  }
  ix::task<int> restart(ix::runtime&) {
    cells.broadcast<&cell::give>();
    auto sum = cells.reduction<int>();
    co_return co_await sum == 28 && number == 5 ? 0 : 3;
  }
  template <class Archive>
  void serialize(Archive& ar) {
    ar & cells;
    serialize_changed(ar, of_program, values, number, extra);
  }
};

/// What a restart with these changes says, and its exit code.
struct outcome {
  int code;
  std::string said;
};
outcome restarted(const job_shape& s, change cell_change, change program_change) {
  folder_of_checkpoints at;
  EXPECT_EQ(run_program<program>(s, {at.option()}), 0);
  of_cell = cell_change;
  of_program = program_change;
  testing::internal::CaptureStderr();
  const int code = run_program<program>(s, {"--imbrex-restart=" + at.path()});
  of_cell = of_program = change::none;
  return {code, testing::internal::GetCapturedStderr()};
}

TEST(changed_serialize, is_nothing_to_speak_of_when_it_has_not_changed) {
  const outcome o = restarted({2, 2}, change::none, change::none);
  EXPECT_EQ(o.code, 0);
  EXPECT_THAT(o.said, testing::Not(HasSubstr("types")));
}

TEST(changed_serialize, of_a_chare_is_refused_with_its_name_and_file) {
  for (const job_shape& s : {job_shape{1, 1}, {2, 2}}) {
    for (const change c : {change::more, change::fewer}) {
      const outcome o = restarted(s, c, change::none);
      EXPECT_EQ(o.code, 1);
      EXPECT_THAT(o.said, AllOf(HasSubstr("/rank_0"), HasSubstr("has a state of "), HasSubstr("cell("),
                                HasSubstr("cannot be read"), HasSubstr("restart with the program that wrote it")));
    }
  }
}

TEST(changed_serialize, of_the_program_is_refused_with_its_name) {
  for (const change c : {change::more, change::fewer}) {
    const outcome o = restarted({2, 1}, change::none, c);
    EXPECT_EQ(o.code, 1);
    EXPECT_THAT(o.said, AllOf(HasSubstr("a state of the program ("), HasSubstr("cannot be read")));
  }
}

TEST(changed_serialize, to_another_type_of_the_same_size_is_warned_of) {
  const outcome of_cells = restarted({2, 2}, change::other_type, change::none);
  EXPECT_EQ(of_cells.code, 3);
  EXPECT_THAT(of_cells.said, AllOf(HasSubstr("states of "), HasSubstr("cell"), HasSubstr("numbers of another kind")));
  const outcome of_all = restarted({2, 1}, change::none, change::other_type);
  EXPECT_EQ(of_all.code, 3);
  EXPECT_THAT(of_all.said, AllOf(HasSubstr("the program ("), HasSubstr("numbers of another kind")));
}

template <class C>
std::string said_of_another_type(change c = change::other_type) {
  folder_of_checkpoints at;
  EXPECT_EQ(run_program<holding<C>>({2, 1}, {at.option()}), 0);
  of_cell = c;
  testing::internal::CaptureStderr();
  EXPECT_EQ(run_program<holding<C>>({2, 1}, {"--imbrex-restart=" + at.path()}), 0);
  of_cell = change::none;
  return testing::internal::GetCapturedStderr();
}

TEST(changed_serialize, to_another_type_of_elements_is_warned_of) {
  EXPECT_THAT(said_of_another_type<holder<ix::buffer>>(), HasSubstr("numbers of another kind"));
  EXPECT_THAT(said_of_another_type<holder<ix::hetero_object>>(), HasSubstr("numbers of another kind"));
}

TEST(changed_serialize, is_not_seen_in_objects_as_they_were) {
  EXPECT_EQ(said_of_another_type<filled>(change::none), "");
  EXPECT_EQ(said_of_another_type<holder<ix::hetero_object>>(change::none), "");
}

}  // namespace

}  // namespace changed_serialize_test
