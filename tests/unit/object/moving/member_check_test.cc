#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <imbrex/imbrex.h>

#include <array>
#include <complex>
#include <cstdlib>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <variant>
#include <vector>

#include "unit/object/job.h"

namespace member_check_test {

// Members that `serialize` does not name, as chares move to other ranks with `--imbrex-check-serialize`.
namespace {

namespace ix = imbrex;
using imbrex_test::job_shape;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

class with_check {
 public:
  with_check() { setenv("IMBREX_CHECK_SERIALIZE", "on", 1); }
  ~with_check() { unsetenv("IMBREX_CHECK_SERIALIZE"); }
  with_check(const with_check&) = delete;
};

struct particle {
  char kind = 0;
  double x = 0, y = 0;  // behind seven bytes that are nothing
};

struct history {
  std::vector<double> values;
  int last = 0;
  template <class Archive>
  void serialize(Archive& ar) {
    ar & values & last;
  }
};

enum class phase : char { begin, middle };

/// Of all kinds of members, each with something else than it is made with.
struct whole : ix::chare<whole, ix::index1d> {
  whole() = default;
  explicit whole(int n) : number(n), text("short"), rows{{1, 2}, {3}}, name("made by hand"), scratch(7, 1.0) {
    one.kind = 'x';
    many.assign(3, one);
    names["a"] = 4;
    both.second = 2.5;
    maybe = 6;
    owned = std::make_unique<int>(8);
    either = std::string("nine");
    past.values = {1, 2, 3};
    past.last = 10;
    where = phase::middle;
    flags.assign(5, true);
    is_set = true;
    mean = 1.5;
  }
  void go(int to) { migrate_to(to); }
  void has_moved(ix::pe_id) { name = "made by hand"; }
  double all() const {
    return number + static_cast<double>(text.size() + rows.size() + names.size()) + both.second + *maybe + *owned +
           past.last + (is_set ? 1 : 0) + mean + one.kind + static_cast<double>(halves.size());
  }
  ix::task<int> take(int n) {
    auto [v] = co_await letters(n);
    co_return v;
  }

  template <class Archive>
  void serialize(Archive& ar) {
    ar & number & one & many & text & rows & names & both & maybe & owned & either & past & where & flags & letters &
        next;
    ar & is_set& ix::transient(scratch) & cells;
    if constexpr (Archive::is_loading) {
      halves.assign(static_cast<std::size_t>(number), 0.5);
      double m = 0;
      ar & m;
      mean = m;
    } else {
      double m = mean;
      ar & m;
    }
  }

  bool is_set = false;
  int number = 0;
  particle one;
  std::vector<particle> many;
  std::string text;
  std::vector<std::vector<int>> rows;
  std::unordered_map<std::string, int> names;
  std::pair<int, double> both{0, 0};
  std::optional<int> maybe;
  std::unique_ptr<int> owned;
  std::variant<int, std::string> either;
  history past;
  phase where = phase::begin;
  std::vector<bool> flags;
  ix::when<int, int> letters;
  ix::element_proxy<whole> next;
  const char* name = "by the default constructor";
  std::vector<double> scratch;
  std::vector<double> halves = std::vector<double>(3, 0.5);
  std::array<float, 3> cells{1, 2, 3};
  double mean = 0;
  std::function<int()> never_set;
  std::string always_empty;
};

ix::task<int> moves_whole(ix::runtime& rt) {
  auto a = rt.create_array<whole>(4, 3);
  const double before = co_await a[1].call<&whole::all>();
  for (int round = 0; round < 3; ++round) {
    for (int i = 0; i < 4; ++i) a[i].send<&whole::go>((i + round) % rt.num_pes());
    co_await rt.quiescence();
  }
  a[1].send<&whole::letters>(1, 5);
  const int letter = co_await a[1].call<&whole::take>(1);
  const double after = co_await a[1].call<&whole::all>();
  co_return letter == 5 && before == after ? 0 : 1;
}

TEST(member_check, has_nothing_to_say_where_all_is_named_restored_or_transient) {
  const with_check on;
  for (const job_shape& s : {job_shape{1, 2}, {2, 3, 7, 50}, {3, 1}, {2, 2, 0, 0, true}}) {
    SCOPED_TRACE(to_text(s));
    const auto [code, errors] = imbrex_test::run_and_listen(s, moves_whole);
    EXPECT_EQ(code, 0);
    EXPECT_EQ(errors, "");
  }
}

/// Names `kept`, and not `lost`, between which there may be nothing.
template <class Lost>
struct forgetful : ix::chare<forgetful<Lost>, ix::index1d> {
  forgetful() = default;
  explicit forgetful(Lost v) : lost(std::move(v)) {}
  void go(int to) { this->migrate_to(to); }
  template <class Archive>
  void serialize(Archive& ar) {
    ar & kept & last;
  }
  int kept = 1;
  Lost lost{};
  double last = 2;
};

template <class Lost>
ix::task<int> moves_forgetful(ix::runtime& rt, Lost v) {
  auto a = rt.create_array<forgetful<Lost>>(2, v);
  a[0].template send<&forgetful<Lost>::go>(rt.num_pes() - 1);
  co_await rt.quiescence();
  co_return 0;
}

template <class Lost>
std::string said_of(Lost v, int code) {
  const auto [ended, errors] = imbrex_test::run_and_listen({1, 2}, moves_forgetful<Lost>, std::move(v));
  EXPECT_EQ(ended, code) << errors;
  return errors;
}

struct partly {
  int named = 0;
  double not_named = 0;
  template <class Archive>
  void serialize(Archive& ar) {
    ar & named;
  }
};

TEST(member_check, finds_what_is_not_named_and_was_changed) {
  const with_check on;
  const auto is_found = AllOf(HasSubstr("(0) has moved, and its bytes "), HasSubstr("ix::transient(member)"));
  EXPECT_THAT(said_of(2.5, 70), is_found);
  EXPECT_THAT(said_of(7, 70), is_found);  // beside another int, before a double
  EXPECT_THAT(said_of(true, 70), is_found);
  EXPECT_THAT(said_of(std::vector<int>{1, 2}, 70), is_found);
  EXPECT_THAT(said_of(std::string("text"), 70), is_found);
  EXPECT_THAT(said_of(std::string(100, 'x'), 70), is_found);
  EXPECT_THAT(said_of(std::map<int, int>{{1, 2}}, 70), is_found);
  EXPECT_THAT(said_of(std::optional<char>('c'), 70), is_found);
  EXPECT_THAT(said_of(std::complex<float>(0, 1), 70), is_found);
  EXPECT_THAT(said_of(particle{'a', 0, 3}, 70), is_found);
}

TEST(member_check, says_nothing_of_what_is_as_the_constructor_made_it) {
  const with_check on;
  EXPECT_EQ(said_of(0.0, 0), "");
  EXPECT_EQ(said_of(std::vector<int>(), 0), "");
  EXPECT_EQ(said_of(std::string(), 0), "");
  EXPECT_EQ(said_of(std::unordered_map<int, int>(), 0), "");
}

struct nested : ix::chare<nested, ix::index1d> {
  void set() { inside.not_named = 1; }
  void go(int to) { migrate_to(to); }
  template <class Archive>
  void serialize(Archive& ar) {
    ar & inside;
  }
  partly inside;
};

TEST(member_check, looks_into_members_that_have_a_serialize_of_their_own) {
  const with_check on;
  const auto [code, errors] = imbrex_test::run_and_listen({1, 2}, [](ix::runtime& rt) -> ix::task<int> {
    auto a = rt.create_array<nested>(2);
    a[0].send<&nested::go>(rt.num_pes() - 1);
    co_await rt.quiescence();
    a[0].send<&nested::set>();
    a[0].send<&nested::go>(0);
    co_await rt.quiescence();
    co_return 0;
  });
  EXPECT_EQ(code, 70);
  EXPECT_THAT(errors, HasSubstr("nested(0) has moved, and its bytes "));
}

TEST(member_check, is_off_unless_asked_for) {
  EXPECT_EQ(said_of(2.5, 0), "");
  EXPECT_FALSE(ix::detail::member_check::is_on());
}

}  // namespace

}  // namespace member_check_test
