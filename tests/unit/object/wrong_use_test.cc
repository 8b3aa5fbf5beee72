#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <imbrex/imbrex.h>

#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <type_traits>
#include <vector>

#include "unit/object/job.h"

namespace wrong_use_test {

/// What is done wrongly is said, and neither lost nor waited for.
namespace {

namespace ix = imbrex;
using imbrex_test::command_line;
using imbrex_test::job_shape;
using imbrex_test::run_and_listen;
using testing::AllOf;
using testing::ContainsRegex;
using testing::HasSubstr;

/// Does not go to another rank.
struct stuck {
  int number = 0;
  template <class Archive>
  void serialize(Archive& ar) {
    if constexpr (!Archive::is_loading) throw std::runtime_error("stuck, and stays where it is");
    ar & number;
  }
};
/// Cannot be copied.
struct unique {
  unique() = default;
  unique(const unique&) { throw std::runtime_error("there is one of it"); }
  unique& operator=(const unique&) = default;
  unique(unique&&) = default;
  template <class Archive>
  void serialize(Archive&) {}
};

struct box : ix::chare<box, ix::index1d> {
  void take(stuck s) { number = s.number; }
  void keep(const unique&) {}
  stuck give() { return {3}; }
  int boom() { throw std::runtime_error("reply boom"); }
  void send_on() {
    try {
      array()[1].send<&box::take>(stuck{4});
    } catch (const std::runtime_error&) {
      ++number;
    }
  }
  void compute(bool high) {
    ix::stream& s = high ? streams().pack : streams().compute;
    s.call("computes", [] { throw std::runtime_error("stream boom"); });
  }
  void compute_then(int) {
    streams().compute.then("tells", [] { throw std::runtime_error("stream boom"); });
  }
  int number = 0;
};

// ---------------------------------------------------------------------------------------------------- serialize throws

ix::task<int> sends_what_stays(ix::runtime& rt) {
  auto a = rt.create_array<box>(ix::index1d(2));
  int thrown = 0;
  try {
    a[1].send<&box::take>(stuck{4});
  } catch (const std::runtime_error&) {
    ++thrown;
  }
  a[0].send<&box::send_on>();
  const unique one;
  try {
    a[0].send<&box::keep>(one);
  } catch (const std::runtime_error&) {
    thrown += 2;
  }
  co_await rt.quiescence();
  co_return thrown;
}

TEST(wrong_use, what_cannot_be_sent_is_thrown_and_is_not_under_way) {
  EXPECT_EQ(run_and_listen({1, 2}, sends_what_stays).code, 3);
  EXPECT_EQ(run_and_listen({2, 1}, sends_what_stays).code, 2);
}

ix::task<int> asks_for_what_stays(ix::runtime& rt) {
  auto a = rt.create_array<box>(ix::index1d(2));
  try {
    co_await a[1].call<&box::give>();
  } catch (const std::exception& e) {
    co_return std::string(e.what()).find("stays where it is") != std::string::npos ? 7 : 8;
  }
  co_return 0;
}

TEST(wrong_use, a_result_that_cannot_be_sent_is_thrown_at_who_asked) {
  const auto [code, errors] = run_and_listen({1, 2}, asks_for_what_stays);
  EXPECT_EQ(code, 7) << errors;
  EXPECT_EQ(run_and_listen({1, 1}, asks_for_what_stays).code, 0);
}

// ---------------------------------------------------------------------------------------------------- reports

enum class fault { saving, loading, leaving, coming };

struct mover : ix::chare<mover, ix::index1d> {
  void go(int to, fault f) {
    how = f;
    migrate_to(to);
  }
  void about_to_move(ix::pe_id) const {
    if (how == fault::leaving) throw std::runtime_error("stays");
  }
  void has_moved(ix::pe_id) const {
    if (how == fault::coming) throw std::runtime_error("stays");
  }
  template <class Archive>
  void serialize(Archive& ar) {
    if (!Archive::is_loading && how == fault::saving) throw std::runtime_error("stays");
    ar & how;
    if (Archive::is_loading && how == fault::loading) throw std::runtime_error("stays");
  }
  fault how{};
};

ix::task<int> moves_badly(ix::runtime& rt, fault f) {
  auto a = rt.create_array<mover>(ix::index1d(4));
  a[1].send<&mover::go>(rt.num_pes() - 1, f);
  co_await rt.quiescence();
  co_return 0;
}

TEST(wrong_use, a_move_that_throws_names_the_element) {
  for (const fault f : {fault::saving, fault::loading, fault::leaving, fault::coming}) {
    const auto [code, errors] = run_and_listen({1, 2}, moves_badly, f);
    EXPECT_EQ(code, 70);
    EXPECT_THAT(errors, ContainsRegex("the (move|arrival) of .*mover.1. on PE . .rank .. threw: stays"));
  }
}

struct unreadable {
  template <class Archive>
  void serialize(Archive& ar) {
    int n = 0;
    ar & n;
    if constexpr (Archive::is_loading) throw std::runtime_error("makes no sense");
  }
};
struct broken_sum {
  double operator()(double, double) const { throw std::runtime_error("adds up to nothing"); }
};
struct reader : ix::chare<reader, ix::index1d> {
  void take(unreadable) {}
  void add() { contribute(1.0, broken_sum{}); }
};

ix::task<int> sends_what_cannot_be_read(ix::runtime& rt) {
  rt.create_array<reader>(ix::index1d(2))[1].send<&reader::take>(unreadable{});
  co_await rt.quiescence();
  co_return 0;
}
ix::task<int> adds_badly(ix::runtime& rt) {
  auto a = rt.create_array<reader>(ix::index1d(2));
  a.broadcast<&reader::add>();
  co_await a.reduction<double>();
  co_return 0;
}

TEST(wrong_use, what_cannot_be_read_names_the_method) {
  const auto [code, errors] = run_and_listen({1, 2}, sends_what_cannot_be_read);
  EXPECT_EQ(code, 70);
  EXPECT_THAT(errors, ContainsRegex("what PE 0 has sent to .*reader::take cannot be read on PE 1 .*makes no sense"));
}

TEST(wrong_use, an_operation_that_throws_names_the_array) {
  const auto [code, errors] = run_and_listen({1, 2}, adds_badly);
  EXPECT_EQ(code, 70);
  EXPECT_THAT(errors, ContainsRegex("reduction 0 of .*reader on PE 0 .rank 0. threw: adds up to nothing"));
}

// ---------------------------------------------------------------------------------------------------- exit codes

ix::task<int> asks_who_throws(ix::runtime& rt) {
  auto a = rt.create_array<box>(ix::index1d(2));
  co_return co_await a[1].call<&box::boom>();
}

TEST(wrong_use, what_a_callee_throws_ends_the_job_alike_wherever_it_is) {
  for (const job_shape& s : {job_shape{1, 1}, {2, 1}, {1, 2}}) {
    const auto [code, errors] = run_and_listen(s, asks_who_throws);
    EXPECT_EQ(code, 70) << to_text(s);
    EXPECT_THAT(errors, ContainsRegex("the main chare on PE 0 .rank 0. threw: reply boom"));
  }
}

ix::task<int> gives(ix::runtime&, int code) { co_return code; }

TEST(wrong_use, an_exit_code_that_the_system_would_take_for_another_is_said) {
  for (const int code : {256, 300, -1}) {
    const auto [given, errors] = run_and_listen({1, 1}, gives, code);
    EXPECT_EQ(given, 255);
    EXPECT_THAT(errors, HasSubstr(fmt::format("exit code {} does not fit", code)));
  }
  EXPECT_EQ(run_and_listen({1, 1}, gives, 255).code, 255);
}

// ---------------------------------------------------------------------------------------------------- streams

ix::task<int> computes(ix::runtime& rt, bool high) {
  rt.create_array<box>(ix::index1d(1))[0].send<&box::compute>(high);
  co_return 0;
}
ix::task<int> computes_then(ix::runtime& rt) {
  rt.create_array<box>(ix::index1d(1))[0].send<&box::compute_then>(0);
  co_return 0;
}

TEST(wrong_use, what_a_function_in_a_stream_throws_ends_the_job_and_is_named) {
  for (const job_shape& s : {job_shape{1, 1}, {2, 2}}) {
    for (const bool high : {false, true}) {
      const auto [code, errors] = run_and_listen(s, computes, high);
      EXPECT_EQ(code, 70);
      EXPECT_THAT(errors, AllOf(HasSubstr("computes in the "), HasSubstr("box"), HasSubstr("threw: stream boom")));
    }
    const auto [code, errors] = run_and_listen(s, computes_then);
    EXPECT_EQ(code, 70);
    EXPECT_THAT(errors, HasSubstr("threw: stream boom"));
  }
}

// ---------------------------------------------------------------------------------------------------- outside of a PE

struct use_of_pe {
  std::string said;
  template <class F>
  explicit use_of_pe(F f) {
    try {
      f();
    } catch (const ix::usage_error& e) {
      said = e.what();
    }
  }
};

ix::task<int> uses_on_a_thread(ix::runtime& rt, std::string* said) {
  auto a = rt.create_array<box>(ix::index1d(2));
  std::thread([&] { *said = use_of_pe([&] { a[0].send<&box::send_on>(); }).said; }).join();
  co_return 0;
}

TEST(wrong_use, proxies_outside_of_a_job_and_on_other_threads_are_errors) {
  const ix::array_proxy<box> none;
  EXPECT_THAT(use_of_pe([&] { none.broadcast<&box::send_on>(); }).said, HasSubstr("by the thread of a PE"));
  EXPECT_THAT(use_of_pe([&] { none[0].send<&box::send_on>(); }).said, HasSubstr("by the thread of a PE"));
  std::string said;
  EXPECT_EQ(run_and_listen({1, 1}, uses_on_a_thread, &said).code, 0);
  EXPECT_THAT(said, HasSubstr("a thread of the program's own cannot"));
}

struct outsider : ix::chare<outsider, ix::index1d> {
  static inline std::vector<std::string> said;
  ix::task<> run() {
    const auto on_a_thread = [](auto f) { std::thread([&] { said.push_back(use_of_pe(f).said); }).join(); };
    ix::future<int> answer;
    const ix::callback<int> told = answer.get_callback();
    ix::buffer<double> out(on_host(), 1);
    ix::channel<double> way(*this, array()[0], 0, 0);
    on_a_thread([&] { told.send(3); });
    on_a_thread([&] { static_cast<void>(way.send(out, streams().pack)); });
    on_a_thread([&] { contribute(1, ix::sum); });
    on_a_thread([&] { migrate_to(0); });
    on_a_thread([&] { destroy(); });
    on_a_thread([&] { static_cast<void>(pe()); });
    on_a_thread([&] { static_cast<void>(on_device()); });
    on_a_thread([&] { rt().exit(9); });
    told.send(5);
    const auto [n] = co_await answer;
    contribute(n, ix::sum);
  }
};

ix::task<int> uses_all_on_a_thread(ix::runtime& rt) {
  const auto a = rt.create_array<outsider>(ix::index1d(1));
  a.broadcast<&outsider::run>();
  co_return co_await a.reduction<int>();
}

TEST(wrong_use, what_a_pe_alone_may_is_refused_to_other_threads) {
  EXPECT_EQ(run_and_listen({1, 1}, uses_all_on_a_thread).code, 5);
  EXPECT_EQ(outsider::said.size(), 8U);
  for (const std::string& text : outsider::said) EXPECT_THAT(text, HasSubstr("by the thread of a PE"));
}

struct neighbour : ix::chare<neighbour, ix::index1d> {
  static inline neighbour* first = nullptr;
  static inline std::string said;
  void is_there() {
    if (index() == 0) first = this;
    contribute(0, ix::sum);
  }
  void uses_the_first() {
    said = use_of_pe([] { first->contribute(1, ix::sum); }).said;
  }
};

ix::task<int> uses_an_element_elsewhere(ix::runtime& rt) {
  const auto a = rt.create_array<neighbour>(ix::index1d(2));
  a.broadcast<&neighbour::is_there>();
  co_await a.reduction<int>();
  co_await a[1].call<&neighbour::uses_the_first>();
  co_return 0;
}

TEST(wrong_use, an_element_is_not_used_by_another_pe) {
  EXPECT_EQ(run_and_listen({1, 2}, uses_an_element_elsewhere).code, 0);
  EXPECT_THAT(neighbour::said, AllOf(HasSubstr("neighbour(0) is on PE 0"), HasSubstr("by PE 1")));
}

// ---------------------------------------------------------------------------------------------------- numbers

struct narrow : ix::chare<narrow, ix::index1d> {
  void whole(int n) { contribute(static_cast<long>(n), ix::sum); }
  void size(std::size_t n) { contribute(static_cast<long>(n), ix::sum); }
  long letter(char c, float) { return c; }
  ix::when<int, double> slot;
};

ix::task<int> sends_numbers(ix::runtime& rt, std::vector<std::string>* said) {
  const auto a = rt.create_array<narrow>(ix::index1d(1));
  const auto refused = [said](auto f) { said->push_back(use_of_pe(f).said); };
  refused([&] { a[0].send<&narrow::whole>(5'000'000'000L); });
  refused([&] { a[0].send<&narrow::whole>(1.5); });
  refused([&] { a[0].send<&narrow::whole>(-3e9F); });
  refused([&] { a.broadcast<&narrow::whole>(4'000'000'000U); });
  refused([&] { a[0].send<&narrow::size>(-1); });
  refused([&] { a[0].send<&narrow::size>(18446744073709551616.0); });
  refused([&] { static_cast<void>(a[0].call<&narrow::letter>(300, 1)); });
  refused([&] { a[0].send<&narrow::slot>(std::int64_t{1} << 32, 2); });
  refused([&] { a[std::int64_t{1} << 32].send<&narrow::whole>(1); });
  const std::size_t there = 0;
  a[there].send<&narrow::whole>(5'000'000L);
  a.broadcast<&narrow::whole>(-2.0);
  a[0].send<&narrow::size>(7);
  long sum = 0;
  for (int i = 0; i < 3; ++i) sum += co_await a.reduction<long>();
  const long letter = co_await a[0].call<&narrow::letter>(100L, 1e300);
  co_return sum == 5'000'005 && letter == 100 ? 0 : 1;
}

TEST(wrong_use, numbers_that_a_parameter_cannot_hold_are_errors) {
  std::vector<std::string> said;
  EXPECT_EQ(run_and_listen({1, 1}, sends_numbers, &said).code, 0);
  EXPECT_EQ(said.size(), 9U);
  for (const std::string& text : said) EXPECT_THAT(text, ContainsRegex("cannot hold|outside of every array"));
  EXPECT_THAT(said[0], HasSubstr("narrow::whole is 5000000000, which a parameter of type int"));
}

/// Constructors whose parameters take numbers in all ways.
struct made : ix::chare<made, ix::index1d> {
  made(int n, std::size_t m, double x, const std::string&) : sum(n + static_cast<long>(m) + static_cast<long>(x)) {}
  long get() { return sum; }
  void take(short n) { contribute(static_cast<long>(n), ix::sum); }
  void give(long n, bool by_callback) {
    if (by_callback) {
      ix::callback<long>::to<&made::take>(array()).send(n);
    } else {
      contribute(n, ix::sum, ix::deliver<&made::take>(array()[0]));
    }
  }
  long sum;
};
struct made_of_any : ix::chare<made_of_any, ix::index1d> {
  template <class T>
  explicit made_of_any(T) : is_int(std::is_same_v<T, int>) {}
  bool get() { return is_int; }
  bool is_int;
};
struct made_of_two : ix::chare<made_of_two, ix::index1d> {
  explicit made_of_two(int) : is_int(true) {}
  explicit made_of_two(double) : is_int(false) {}
  bool get() { return is_int; }
  bool is_int;
};
struct made_of_others : ix::chare<made_of_others, ix::index1d> {
  made_of_others(std::optional<int> n, bool b, char c, ix::index2d i, const long& l)
      : sum(n.value() + b + c + i.x + static_cast<int>(l)) {}
  int get() { return sum; }
  int sum;
};

enum class made_how { well, too_large, negative, by_reduction, by_callback };

ix::task<int> makes_of_numbers(ix::runtime& rt, made_how how) {
  if (how == made_how::too_large) rt.create_array<made>(ix::index1d(2), 5'000'000'000, 3, 1, "x");
  if (how == made_how::negative) rt.create_array<made>(ix::index1d(2), 5, -3, 1, "x");
  const auto a = rt.create_array<made>(ix::index1d(2), 5L, 3, 1, "x");
  if (how == made_how::by_reduction) a.broadcast<&made::give>(30'000, false);
  if (how == made_how::by_callback) a[1].send<&made::give>(60'000, true);
  long sum = co_await a[1].call<&made::get>();
  sum += co_await rt.create_array<made_of_any>(ix::index1d(1), 3)[0].call<&made_of_any::get>();
  sum += co_await rt.create_array<made_of_two>(ix::index1d(1), 3)[0].call<&made_of_two::get>();
  sum += co_await rt.create_array<made_of_two>(ix::index1d(1), 3.0)[0].call<&made_of_two::get>();
  const ix::index2d i(100, 0);
  sum +=
      co_await rt.create_array<made_of_others>(ix::index1d(1), 3, true, 'a', i, 1000U)[0].call<&made_of_others::get>();
  co_await rt.quiescence();
  co_return sum == 9 + 1 + 1 + 3 + 1 + 97 + 100 + 1000 ? 0 : 1;
}

TEST(wrong_use, numbers_of_constructors_and_of_results_are_checked) {
  for (const job_shape& s : {job_shape{1, 2}, job_shape{2, 1}}) {
    EXPECT_EQ(run_and_listen(s, makes_of_numbers, made_how::well).code, 0);
    const auto said = [&](made_how how) {
      const auto [code, errors] = run_and_listen(s, makes_of_numbers, how);
      EXPECT_EQ(code, 70) << errors;
      return errors;
    };
    EXPECT_THAT(said(made_how::too_large), AllOf(HasSubstr("argument 1 of the constructor of "),
                                                 HasSubstr("made is 5000000000, which a parameter of type int")));
    EXPECT_THAT(said(made_how::negative), HasSubstr("made is -3, which a parameter of type "));
    EXPECT_THAT(said(made_how::by_reduction), HasSubstr("made::take is 60000, which a parameter of type short"));
    EXPECT_THAT(said(made_how::by_callback), HasSubstr("made::take is 60000, which a parameter of type short"));
  }
}

ix::task<int> runs_another(ix::runtime&) {
  command_line inner({1, 1});
  co_return ix::run(inner.count(), inner.values(), gives, 9);
}

TEST(wrong_use, a_job_inside_of_a_job_is_refused) {
  const auto [code, errors] = run_and_listen({1, 1}, runs_another);
  EXPECT_EQ(code, 2);
  EXPECT_THAT(errors, HasSubstr("inside of a job"));
}

// ---------------------------------------------------------------------------------------------------- options

std::string said_by(std::vector<std::string> words, int expected_code, const job_shape& s = {1, 1}) {
  command_line line(s, std::move(words));
  testing::internal::CaptureStderr();
  EXPECT_EQ(ix::run(line.count(), line.values(), gives, 0), expected_code);
  return testing::internal::GetCapturedStderr();
}

TEST(wrong_use, options_that_do_nothing_are_warned_of) {
  EXPECT_THAT(said_by({"--imbrex-balance-every-ms=5"}, 0), HasSubstr("it needs --imbrex-balance=STRATEGY"));
  EXPECT_THAT(said_by({"--imbrex-device=host", "--imbrex-gpus=2"}, 0), HasSubstr("--imbrex-gpus does nothing here"));
  EXPECT_EQ(said_by({"--imbrex-device=host"}, 0), "");
}

TEST(wrong_use, options_that_cannot_be_are_errors) {
  EXPECT_THAT(said_by({"--imbrex-checkpoint=" + testing::TempDir()}, 2), HasSubstr("cannot be restarted"));
}

}  // namespace

}  // namespace wrong_use_test
