#include "imbrex/object/entry/shown_name.h"

#include <gmock/gmock.h>

#include <cstring>

#include "unit/object/job.h"

namespace shown_name_test {

using namespace imbrex;
using namespace imbrex_test;
using testing::HasSubstr;
using testing::ThrowsMessage;

namespace {

struct plain : chare<plain, index1d> {
  void go() {}
};

/// Stands for classes of another language, by what it is made with.
struct foreign : chare<foreign, index1d> {
  explicit foreign(const std::string& cls) : cls_(kept_name(cls)) {}
  static const char* chare_name() { return "a foreign chare"; }
  static const char* chare_name(const std::string& cls) { return kept_name(cls); }
  const char* own_name() const override { return cls_; }
  static const char* entry_name(const char* cls, const std::string& method) {
    return kept_name(std::string(cls) + "::" + method);
  }
  task<> call_method(std::string method) {
    if (method == "fails") throw usage_error("on purpose");
    co_return;
  }
  const char* cls_;
};

task<int> start(runtime& rt) {
  array_shape<index1d> shape{index1d(3)};
  shape.name = "walls";
  const auto walls = rt.create_array<plain>(shape);
  EXPECT_THAT([&] { walls[77].send<&plain::go>(); },
              ThrowsMessage<usage_error>(HasSubstr("walls has no element (77)")));
  const auto others = rt.create_array<foreign>(index1d(3), std::string("Block"));
  EXPECT_THAT([&] { others[77].send<&foreign::call_method>(std::string("x")); },
              ThrowsMessage<usage_error>(HasSubstr("Block has no element (77)")));
  others[2].erase();
  auto quiet = rt.quiescence();
  co_await quiet;
  try {
    auto gone = others[2].call<&foreign::call_method>(std::string("run"));
    co_await std::move(gone);
    ADD_FAILURE() << "it is gone";
  } catch (const usage_error& e) {
    EXPECT_THAT(e.what(), HasSubstr("Block::run was sent to Block(2), which has been deleted"));
  }
  co_return 0;
}

TEST(shown_name, of_arrays_and_of_classes_that_stand_for_others) {
  EXPECT_EQ(run_job_with({.pes = 2}, &start), 0);
  EXPECT_EQ(run_job_with({.pes = 1, .ranks = 2}, &start), 0);
}

task<int> fail(runtime& rt) {
  rt.create_array<foreign>(index1d(3), std::string("Block"))[1].send<&foreign::call_method>(std::string("fails"));
  auto quiet = rt.quiescence();
  co_await quiet;
  co_return 0;
}

TEST(shown_name, stands_in_what_is_said_of_failures) {
  testing::internal::CaptureStderr();
  EXPECT_NE(run_job_with({.pes = 1}, &fail), 0);
  EXPECT_THAT(testing::internal::GetCapturedStderr(), HasSubstr("Block::fails of Block(1)"));
}

TEST(shown_name, is_kept_once) {
  EXPECT_EQ(kept_name("x"), kept_name(std::string("x")));
  EXPECT_STREQ(kept_name("y"), "y");
}

}  // namespace

}  // namespace shown_name_test
