#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <imbrex/imbrex.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <functional>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "imbrex/checkpoint/partial_checkpoint.h"
#include "unit/checkpoint/live/job_with_checkpoints.h"

namespace refusals_test {

// What cannot be kept is refused and named; what cannot be read is, too.
namespace {

namespace ix = imbrex;
using namespace imbrex_test;
using testing::HasSubstr;

struct plain : ix::chare<plain, ix::index1d> {
  ix::when<int> go;
  ix::channel<int> to, from;
  ix::buffer<int> data;
  int done = 0;

  ix::task<> wait_for_go() { co_await go(0); }
  void contribute_if_first() {
    if (index() == 0) contribute(1, ix::sum);
  }
  void contribute_all() { contribute(1, ix::sum); }
  ix::task<> send_on_channel() {
    const int n = extent();
    data = ix::buffer<int>(on_host(), 1);
    to = ix::channel<int>(*this, array()[(index() + 1) % n], 0, 1);
    from = ix::channel<int>(*this, array()[(index() + n - 1) % n], 1, 0);
    auto sent = to.send(data, streams().pack);
    co_await std::move(sent);
  }
  template <class Archive>
  void serialize(Archive& ar) {
    ar & done;
  }
};

struct with_object : ix::chare<with_object, ix::index1d> {
  ix::hetero_object<int> object{3000};
  std::optional<ix::host_view<int>> held;
  ix::task<> hold() {
    auto access = object.host(ix::access_mode::write);
    held = co_await access;
  }
  ix::task<> fail() {
    const auto task =
        ix::submit({}, [](std::span<int>) { throw std::runtime_error("the mesh is gone"); }, ix::write(object));
    try {
      co_await task;
    } catch (const std::runtime_error&) {
    }
  }
  template <class Archive>
  void serialize(Archive& ar) {
    ar & object;
  }
};

struct throwing : ix::chare<throwing, ix::index1d> {
  void nothing() {}
  template <class Archive>
  void serialize(Archive&) {
    throw std::runtime_error("the file of the mesh is closed");
  }
};

struct without_default : ix::chare<without_default, ix::index1d> {
  explicit without_default(int) {}
  void nothing() {}
};

/// Does something, makes a checkpoint, and notes what is said of that.
struct attempt {
  attempt() = default;
  explicit attempt(std::function<ix::task<>(ix::runtime&)> f) : first(std::move(f)) {}
  std::function<ix::task<>(ix::runtime&)> first;
  static inline std::string said;

  ix::task<int> start(ix::runtime& rt) {
    auto before = first(rt);
    co_await before;
    try {
      auto made = rt.checkpoint();
      said = co_await made;
    } catch (const ix::error& e) {
      said = e.what();
    }
    rt.exit(0);
    co_return 0;
  }
  ix::task<int> restart(ix::runtime&) { co_return 5; }
  template <class Archive>
  void serialize(Archive&) {}
};

std::string what_is_said_of(const job_shape& s, ix::task<> (*first)(ix::runtime&)) {
  folder_of_checkpoints at;
  EXPECT_EQ(run_program<attempt>(s, {at.option()}, std::function<ix::task<>(ix::runtime&)>(first)), 0);
  return attempt::said;
}

TEST(checkpoint_refusal, names_who_waits) {
  for (const job_shape& s : {job_shape{1, 1}, {2, 2}}) {
    EXPECT_THAT(
        what_is_said_of(s,
                        [](ix::runtime& rt) -> ix::task<> {
                          rt.create_array<plain>(ix::index1d(4)).broadcast<&plain::wait_for_go>();
                          co_return;
                        }),
        testing::AllOf(HasSubstr("wait_for_go of"), HasSubstr("with reference 0"), HasSubstr("checkpoint_point")));
  }
}

TEST(checkpoint_refusal, names_messages_in_slots_that_serialize_leaves_out) {
  EXPECT_THAT(what_is_said_of({2, 2},
                              [](ix::runtime& rt) -> ix::task<> {
                                auto a = rt.create_array<plain>(ix::index1d(4));
                                a[3].send<&plain::go>(7);
                                a[3].send<&plain::go>(8);
                                co_return;
                              }),
              testing::ContainsRegex("2 messages wait in .*plain::go of .*plain.3. and would be lost"));
}

TEST(checkpoint_refusal, names_messages_for_nobody) {
  EXPECT_THAT(
      what_is_said_of({2, 1},
                      [](ix::runtime& rt) -> ix::task<> {
                        rt.create_array<plain>(ix::empty_array<ix::index1d>())[3].send<&plain::contribute_all>();
                        co_return;
                      }),
      HasSubstr("(3), which does not exist"));
}

TEST(checkpoint_refusal, names_reductions_under_way_and_results_that_nobody_took) {
  for (const job_shape& s : {job_shape{1, 1}, {2, 2}}) {
    EXPECT_THAT(what_is_said_of(s,
                                [](ix::runtime& rt) -> ix::task<> {
                                  rt.create_array<plain>(ix::index1d(4)).broadcast<&plain::contribute_if_first>();
                                  co_return;
                                }),
                HasSubstr("reduction 0 of"));
    EXPECT_THAT(what_is_said_of(s,
                                [](ix::runtime& rt) -> ix::task<> {
                                  rt.create_array<plain>(ix::index1d(4)).broadcast<&plain::contribute_all>();
                                  co_return;
                                }),
                HasSubstr("nobody has taken the result of reduction 0"));
  }
}

TEST(checkpoint_refusal, names_views_that_are_held_and_tasks_that_failed) {
  for (const job_shape& s : {job_shape{1, 1}, {2, 2}}) {
    EXPECT_THAT(what_is_said_of(s,
                                [](ix::runtime& rt) -> ix::task<> {
                                  auto a = rt.create_array<with_object>(ix::index1d(4));
                                  auto held = a[3].call<&with_object::hold>();
                                  co_await std::move(held);
                                }),
                HasSubstr("somebody holds a view of an object of a chare, 12000 bytes, and may write it"));
    EXPECT_THAT(what_is_said_of(s,
                                [](ix::runtime& rt) -> ix::task<> {
                                  rt.create_array<with_object>(ix::index1d(4)).broadcast<&with_object::fail>();
                                  co_return;
                                }),
                testing::AllOf(HasSubstr("no checkpoint can be made here"), HasSubstr("the mesh is gone")));
  }
}

TEST(checkpoint_refusal, names_messages_in_channels) {
  EXPECT_THAT(what_is_said_of({2, 2},
                              [](ix::runtime& rt) -> ix::task<> {
                                rt.create_array<plain>(ix::index1d(4)).broadcast<&plain::send_on_channel>();
                                co_return;
                              }),
              testing::AnyOf(HasSubstr("has not been received"), HasSubstr("waits for")));
}

TEST(checkpoint_refusal, names_classes_that_cannot_be_kept) {
  EXPECT_THAT(what_is_said_of({1, 1},
                              [](ix::runtime& rt) -> ix::task<> {
                                auto all = rt.create_array<without_default>(ix::index1d(4), 7);
                                all.broadcast<&without_default::nothing>();
                                co_return;
                              }),
              HasSubstr("needs a default constructor and a serialize member"));
}

TEST(checkpoint_refusal, names_who_throws_in_serialize) {
  EXPECT_THAT(
      what_is_said_of({2, 2},
                      [](ix::runtime& rt) -> ix::task<> {
                        auto all = rt.create_array<throwing>(ix::index1d(1));
                        all.broadcast<&throwing::nothing>();
                        co_return;
                      }),
      testing::AllOf(HasSubstr("serialize of "), HasSubstr("throwing(0) threw: the file of the mesh is closed")));
}

TEST(checkpoint_refusal, of_programs_that_are_functions) {
  folder_of_checkpoints at;
  static std::string said, path;
  said.clear();
  path = at.path();
  command_line line({1, 1});
  EXPECT_EQ(ix::run(line.count(), line.values(),
                    [](ix::runtime& rt) -> ix::task<int> {
                      try {
                        auto made = rt.checkpoint(path);
                        co_await made;
                      } catch (const ix::usage_error& e) {
                        said = e.what();
                      }
                      co_return 0;
                    }),
            0);
  EXPECT_THAT(said, HasSubstr("imbrex::run<program>"));
  testing::internal::CaptureStderr();
  command_line asked_for({1, 1}, {at.option()});
  EXPECT_EQ(ix::run(asked_for.count(), asked_for.values(), [](ix::runtime&) -> ix::task<int> { co_return 0; }), 2);
  EXPECT_THAT(testing::internal::GetCapturedStderr(), HasSubstr("makes none"));
  testing::internal::CaptureStderr();
  EXPECT_EQ(run_program<attempt>({1, 1}, {at.option()}, +[](ix::runtime&) -> ix::task<> { co_return; }), 0);
  command_line again({1, 1}, {"--imbrex-restart=" + at.path()});
  EXPECT_EQ(ix::run(again.count(), again.values(), [](ix::runtime&) -> ix::task<int> { co_return 0; }), 2);
  EXPECT_THAT(testing::internal::GetCapturedStderr(), HasSubstr("cannot be restarted"));
}

TEST(checkpoint_refusal, of_folders_that_cannot_be) {
  for (const std::string folder : {"/proc/none", "/dev/null/x"}) {  // the first one also as root
    testing::internal::CaptureStderr();
    attempt::said.clear();
    EXPECT_EQ(run_program<attempt>(
                  {2, 1}, {"--imbrex-checkpoint=" + folder}, +[](ix::runtime&) -> ix::task<> { co_return; }),
              1);
    EXPECT_EQ(attempt::said, "") << "the program had begun";
    EXPECT_EQ(run_program<attempt>(
                  {2, 1}, {"--imbrex-restart=" + folder}, +[](ix::runtime&) -> ix::task<> { co_return; }),
              1);
    EXPECT_THAT(testing::internal::GetCapturedStderr(), HasSubstr(folder));
  }
}

TEST(checkpoint_refusal, of_options_that_contradict_each_other) {
  for (const char* wrong : {"--imbrex-checkpoint-every=3 weeks", "--imbrex-checkpoint-every=-1"}) {
    folder_of_checkpoints at;
    testing::internal::CaptureStderr();
    EXPECT_EQ(run_program<attempt>({1, 1}, {at.option(), wrong}, +[](ix::runtime&) -> ix::task<> { co_return; }), 2);
    EXPECT_THAT(testing::internal::GetCapturedStderr(), HasSubstr("give a time such as 30s"));
  }
  for (const char* lonely : {"--imbrex-checkpoint-every=1", "--imbrex-restart=auto", "--imbrex-checkpoint-keep=3"}) {
    testing::internal::CaptureStderr();
    EXPECT_EQ(run_program<attempt>({1, 1}, {lonely}, +[](ix::runtime&) -> ix::task<> { co_return; }), 2);
    EXPECT_THAT(testing::internal::GetCapturedStderr(), HasSubstr("needs --imbrex-checkpoint=FOLDER"));
  }
  for (const char* empty : {"--imbrex-checkpoint=", "--imbrex-restart="}) {
    testing::internal::CaptureStderr();
    EXPECT_EQ(run_program<attempt>({1, 1}, {empty}, +[](ix::runtime&) -> ix::task<> { co_return; }), 2);
    EXPECT_THAT(testing::internal::GetCapturedStderr(), HasSubstr("is empty: name a folder"));
  }
}

/// A job is warned at its start, and makes none while the other lives.
TEST(checkpoint_refusal, of_a_folder_that_another_job_has) {
  const auto nothing = +[](ix::runtime&) -> ix::task<> { co_return; };
  folder_of_checkpoints at;
  EXPECT_EQ(run_program<attempt>({1, 1}, {at.option()}, nothing), 0);
  ASSERT_EQ(at.num_checkpoints(), 1);
  {
    ix::folder_claim other(at.path());
    ASSERT_TRUE(other.take());
    testing::internal::CaptureStderr();
    EXPECT_EQ(run_program<attempt>({2, 1}, {at.option()}, nothing), 0);
    EXPECT_THAT(testing::internal::GetCapturedStderr(),
                testing::AllOf(HasSubstr(at.path()), HasSubstr("another job"), HasSubstr("warning")));
    EXPECT_THAT(attempt::said, HasSubstr("another job"));
    EXPECT_EQ(at.num_checkpoints(), 1);
  }
  EXPECT_EQ(run_program<attempt>({2, 1}, {at.option()}, nothing), 0);
  EXPECT_EQ(at.num_checkpoints(), 2);
}

/// Restarted from a folder whose newest checkpoint is broken, a job takes the one before and says so.
TEST(restart, passes_over_what_is_broken) {
  folder_of_checkpoints at;
  for (int i = 0; i < 2; ++i)
    EXPECT_EQ(run_program<attempt>({2, 1}, {at.option()}, +[](ix::runtime&) -> ix::task<> { co_return; }), 0);
  std::filesystem::resize_file(at.path() + "/000002/rank_000000", 50);
  testing::internal::CaptureStderr();
  EXPECT_EQ(run_program<attempt>(
                {2, 1}, {"--imbrex-restart=" + at.path()}, +[](ix::runtime&) -> ix::task<> { co_return; }),
            5);
  EXPECT_THAT(testing::internal::GetCapturedStderr(), HasSubstr("a newer checkpoint is broken"));
  testing::internal::CaptureStderr();
  EXPECT_EQ(run_program<attempt>(
                {2, 1}, {"--imbrex-restart=" + at.path() + "/000002"}, +[](ix::runtime&) -> ix::task<> { co_return; }),
            1);
  EXPECT_THAT(testing::internal::GetCapturedStderr(), HasSubstr("restart from " + at.path() + "/000001"));
}

}  // namespace

}  // namespace refusals_test
