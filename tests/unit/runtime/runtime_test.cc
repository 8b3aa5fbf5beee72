#include "imbrex/runtime/runtime.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <imbrex/imbrex.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "unit/object/job.h"

namespace runtime_test {

namespace {

namespace ix = imbrex;
using imbrex_test::all_shapes;
using imbrex_test::command_line;
using imbrex_test::job_shape;
using imbrex_test::run_job_with;
using testing::HasSubstr;

// ---------------------------------------------------------------------------------------------------- main chares

ix::task<int> takes_runtime(ix::runtime& rt) { co_return rt.num_pes() * 10 + rt.num_ranks(); }

ix::task<int> takes_arguments(ix::runtime&, std::vector<std::string> arguments) {
  const std::vector<std::string> expected{"first", "--second=2", "3"};
  co_return arguments == expected ? 11 : 12;
}

struct settings {
  int size = 0;
  std::string name;
};
ix::task<int> takes_extra(ix::runtime&, settings s, double factor) {
  co_return s.name == "large" ? s.size* static_cast<int>(factor) : 0;
}

TEST(run, gives_the_main_chare_what_it_asks_for) {
  EXPECT_EQ(run_job_with({2, 2}, takes_runtime), 42);
  EXPECT_EQ(run_job_with({1, 1}, takes_extra, settings{7, "large"}, 3.0), 21);
  for (const job_shape& s : {job_shape{1, 1}, {1, 2}}) {
    command_line line(s, {"first", "--second=2", "3"});
    EXPECT_EQ(ix::run(line.count(), line.values(), takes_arguments), 11);
  }
}

TEST(run, takes_its_options_out_of_the_command_line) {
  command_line line({2, 1}, {"first", "--second=2", "3"});
  int argc = line.count();
  char** const argv = line.values();
  ASSERT_GT(argc, 4);
  EXPECT_EQ(ix::run(argc, argv, takes_runtime), 21);
  ASSERT_EQ(argc, 4);
  EXPECT_STREQ(argv[1], "first");
  EXPECT_STREQ(argv[2], "--second=2");
  EXPECT_STREQ(argv[3], "3");
  EXPECT_EQ(argv[argc], nullptr);
}

TEST(run, takes_a_count_that_cannot_be_changed) {
  command_line line({2, 1}, {"first", "--second=2", "3"});
  const int argc = line.count();
  EXPECT_EQ(ix::run(argc, line.values(), takes_arguments), 11);
  EXPECT_EQ(ix::run(4, line.values(), takes_arguments), 11);  // only those are left
  EXPECT_EQ(line.values()[4], nullptr);
}

TEST(run, can_be_called_many_times_in_one_process) {
  for (int i = 0; i < 20; ++i)
    EXPECT_EQ(run_job_with({1 + i % 3, 1 + i % 2}, takes_runtime), (1 + i % 3) * (1 + i % 2) * 10 + 1 + i % 2);
}

TEST(run, refuses_wrong_options_without_starting) {
  for (const char* wrong : {"--imbrex-pes=many", "--imbrex-pes=-1", "--imbrex-transport=pigeon"}) {
    std::string program = "test";
    std::string option = wrong;
    std::vector<char*> values{program.data(), option.data(), nullptr};
    int count = 2;
    testing::internal::CaptureStderr();
    EXPECT_EQ(ix::run(count, values.data(), takes_runtime), 2);
    const std::string errors = testing::internal::GetCapturedStderr();
    EXPECT_THAT(errors, HasSubstr("imbrex: error: "));
    EXPECT_THAT(errors, HasSubstr(std::string(wrong).substr(0, std::string(wrong).find('='))));
  }
}

TEST(run, warns_of_unknown_options) {
  command_line line({1, 1}, {"--imbrex-pse=3"});
  testing::internal::CaptureStderr();
  EXPECT_EQ(ix::run(line.count(), line.values(), takes_runtime), 11);
  EXPECT_THAT(testing::internal::GetCapturedStderr(), HasSubstr("imbrex-pse"));
}

// ------------------------------------------------------------------------------------------- read-only globals

ix::readonly<std::vector<double>> table;
ix::readonly<std::string> title{"untitled"};

struct reader : ix::chare<reader, ix::index1d> {
  bool agrees() { return table->size() == 3 && (*table)[2] == 0.25 && *title == "set before"; }
  void set_late() { title.set("too late"); }
};

ix::task<int> reads_globals(ix::runtime& rt) {
  auto readers = rt.create_group<reader>();
  for (int i = 0; i < rt.num_pes(); ++i) {
    const bool agrees = co_await readers[i].call<&reader::agrees>();
    EXPECT_TRUE(agrees);
    try {
      co_await readers[i].call<&reader::set_late>();
      ADD_FAILURE() << "a read-only global was set";
    } catch (const ix::usage_error& e) {
      EXPECT_THAT(e.what(), HasSubstr("set it before imbrex::run"));
    }
  }
  co_return 0;
}

TEST(readonly, is_set_before_the_job_and_read_everywhere) {
  EXPECT_EQ(*title, "untitled");
  table.set({1.0, 0.5, 0.25});
  title.set("set before");
  imbrex_test::run_over_all_shapes(reads_globals);
  title.set("untitled");
}

// ------------------------------------------------------------------------------------------- the end, on every path

std::atomic<int> alive{0};
std::atomic<int> tokens{0};

/// Something that a leak would show, in chares, coroutine frames and messages alike.
struct token {
  token() { ++tokens; }
  token(const token& other) : text(other.text) { ++tokens; }
  token(token&& other) noexcept : text(std::move(other.text)) { ++tokens; }
  token& operator=(const token&) = default;
  token& operator=(token&&) = default;
  ~token() { --tokens; }
  template <class Archive>
  void serialize(Archive& ar) {
    ar & text;
  }
  std::string text = "a text too long to be stored in place";
};

struct worker : ix::chare<worker, ix::index1d> {
  worker() { ++alive; }
  ~worker() override {
    --alive;
    if (talks_at_end) array()[(index() + 1) % extent()].send<&worker::take>(token{});
  }
  void take(const token&) {}
  void spin(token t) { array()[(index() + 1) % extent()].send<&worker::spin>(std::move(t)); }
  ix::task<int> suspended(token t) {
    const token local = t;
    auto [received] = co_await slot(1);
    co_return static_cast<int>(received.text.size());
  }
  ix::task<> suspended_in_call(token) {
    const token local;
    co_await array()[(index() + 1) % extent()].call<&worker::suspended>(local);
  }
  ix::task<> suspended_in_any() {
    const token local;
    auto call = array()[(index() + 1) % extent()].call<&worker::suspended>(local);
    co_await ix::when_any(slot(2), slot(3), std::move(call));
  }
  ix::task<> suspended_in_barrier(token) {
    if (index() != 0) co_await barrier();
  }
  void talk_at_end() { talks_at_end = true; }
  void exit(int code) { rt().exit(code); }
  void fail() { throw std::runtime_error("on purpose"); }
  ix::when<int, token> slot;
  token own;
  bool talks_at_end = false;
};

enum class way { returns, exits, exits_from_a_chare, fails, deadlocks, main_throws };

/// Leaves behind suspended coroutines of all kinds, queued messages, messages nobody will get, messages under way.
ix::task<int> leave_much_behind(ix::runtime& rt, way w) {
  const token in_main;
  auto a = rt.create_array<worker>(ix::index1d(6));
  auto none = rt.create_array<worker>(ix::empty_array<ix::index1d>());
  a.broadcast<&worker::suspended>(in_main);
  a.broadcast<&worker::suspended_in_call>(in_main);
  a.broadcast<&worker::suspended_in_any>();
  a.broadcast<&worker::suspended_in_barrier>(in_main);
  for (int i = 0; i < 6; ++i) a[i].send<&worker::slot>(7, token{});
  co_await rt.quiescence();
  if (w == way::deadlocks) {
    none[5].send<&worker::take>(token{});
    co_await none.reduction<int>();
  }
  if (w == way::returns) co_return 3;
  for (int i = 0; i < 6; ++i) a[i].send<&worker::spin>(token{});
  if (w == way::main_throws) throw std::runtime_error("on purpose");
  if (w == way::exits) rt.exit(3);
  if (w == way::exits_from_a_chare) a[5].send<&worker::exit>(3);
  if (w == way::fails) a[5].send<&worker::fail>();
  co_await a.reduction<int>();
  co_return 0;
}

void expect_clean_end(way w, int expected_code) {
  for (const job_shape& s : all_shapes()) {
    SCOPED_TRACE(to_text(s));
    EXPECT_EQ(imbrex_test::run_and_listen(s, leave_much_behind, w).code, expected_code);
    EXPECT_EQ(alive, 0);
    EXPECT_EQ(tokens, 0);
  }
}

TEST(end, by_return_destroys_everything) { expect_clean_end(way::returns, 3); }
TEST(end, by_exit_destroys_everything) { expect_clean_end(way::exits, 3); }
TEST(end, by_exit_of_a_chare_destroys_everything) { expect_clean_end(way::exits_from_a_chare, 3); }
TEST(end, by_failure_destroys_everything) { expect_clean_end(way::fails, 70); }
TEST(end, by_deadlock_destroys_everything) { expect_clean_end(way::deadlocks, 70); }
TEST(end, by_a_main_chare_that_throws_destroys_everything) { expect_clean_end(way::main_throws, 70); }

TEST(end, by_failure_keeps_the_trace_of_what_led_to_it) {
  const std::string file = testing::TempDir() + "imbrex_failed_job.json";
  std::filesystem::remove(file);
  command_line line({2, 1}, {"--imbrex-trace=" + file});
  testing::internal::CaptureStderr();
  EXPECT_EQ(ix::run(line.count(), line.values(), leave_much_behind, way::fails), 70);
  static_cast<void>(testing::internal::GetCapturedStderr());
  std::ifstream trace(file);
  const std::string text((std::istreambuf_iterator<char>(trace)), {});
  EXPECT_THAT(text, HasSubstr("the main chare"));
  std::filesystem::remove(file);
}

ix::task<int> destructors_that_send(ix::runtime& rt) {
  auto a = rt.create_array<worker>(ix::index1d(6));
  a.broadcast<&worker::talk_at_end>();
  co_return 0;
}

TEST(end, survives_destructors_that_send) {
  for (const job_shape& s : all_shapes()) {
    EXPECT_EQ(run_job_with(s, destructors_that_send), 0) << to_text(s);
    EXPECT_EQ(tokens, 0);
  }
}

ix::task<int> everybody_exits(ix::runtime& rt) {
  auto a = rt.create_array<worker>(ix::index1d(16));
  a.broadcast<&worker::exit>(9);
  co_await a.reduction<int>();
  co_return 0;
}

TEST(end, by_many_exits_at_once_is_one_end) {
  for (const job_shape& s : all_shapes()) EXPECT_EQ(run_job_with(s, everybody_exits), 9) << to_text(s);
}

}  // namespace

}  // namespace runtime_test
