#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <imbrex/imbrex.h>

#include <string>

#include "unit/object/job.h"

namespace left_out_slot_test {

// Messages that wait in entry slots which `serialize` does not name, as their chare crosses processes; and what is said
// of chares that wait to do so for ever.
namespace {

namespace ix = imbrex;
using imbrex_test::job_shape;
using imbrex_test::run_and_listen;
using testing::ContainsRegex;
using testing::HasSubstr;
using testing::Not;

struct forgetful : ix::chare<forgetful, ix::index1d> {
  ix::when<int, int> kept, forgotten;
  ix::slot<int> also_forgotten;

  void go(int to) { migrate_to(to); }
  ix::task<int> take(int reference) {
    auto [number] = co_await kept(reference);
    co_return number;
  }
  ix::task<> wait_for(int reference) { co_await forgotten(reference); }
  template <class Archive>
  void serialize(Archive& ar) {
    ar & kept;
  }
};

template <auto Slot, class... Args>
ix::task<int> sends_and_goes(ix::runtime& rt, Args... args) {
  auto a = rt.create_array<forgetful>(ix::index1d(2));
  a[0].send<&forgetful::kept>(1, 10);
  a[0].send<Slot>(args...);
  co_await rt.quiescence();
  a[0].send<&forgetful::go>(rt.num_pes() - 1);
  co_await rt.quiescence();
  const int n = co_await a[0].call<&forgetful::take>(1);
  co_return n == 10 ? 0 : 5;
}
constexpr auto with_when = &sends_and_goes<&forgetful::forgotten, int, int>;
constexpr auto with_slot = &sends_and_goes<&forgetful::also_forgotten, int>;
constexpr auto with_kept = &sends_and_goes<&forgetful::kept, int, int>;

TEST(left_out_slot, with_messages_ends_the_job_and_is_named) {
  for (const job_shape& s : {job_shape{1, 2}, {2, 2, 7}}) {
    const auto [code, errors] = run_and_listen(s, with_when, 3, 4);
    EXPECT_EQ(code, 70);
    EXPECT_THAT(errors, ContainsRegex("1 message waits in .*forgetful::forgotten of .*forgetful.0. and would be lost"));
    EXPECT_THAT(errors, HasSubstr("ar & forgotten"));
    const auto [other_code, other_errors] = run_and_listen(s, with_slot, 3);
    EXPECT_EQ(other_code, 70);
    EXPECT_THAT(other_errors, HasSubstr("forgetful::also_forgotten of "));
  }
}

TEST(left_out_slot, goes_inside_a_process_as_it_is) { EXPECT_EQ(run_and_listen({3, 1}, with_when, 3, 4).code, 0); }

TEST(left_out_slot, that_is_named_keeps_its_messages) { EXPECT_EQ(run_and_listen({1, 2}, with_kept, 3, 4).code, 0); }

TEST(deadlock, calls_slots_by_their_names_also_those_that_nobody_has_sent_to) {
  const auto [code, errors] = run_and_listen({1, 1}, [](ix::runtime& rt) -> ix::task<int> {
    auto a = rt.create_array<forgetful>(ix::index1d(1));
    if (rt.num_pes() > 1) a[0].send<&forgetful::forgotten>(3, 4);  // not here
    co_await a[0].call<&forgetful::wait_for>(3);
    co_return 0;
  });
  EXPECT_EQ(code, 70);
  EXPECT_THAT(errors, HasSubstr("forgetful::forgotten with reference 3"));
}

/// Does not say that its coroutine can be called again.
struct wanderer : ix::chare<wanderer, ix::index1d> {
  int round = 0;
  ix::task<> run(int rounds, int to) {
    if (index() == 0) migrate_to(to);
    for (; round < rounds; ++round) {
      co_await ix::move_point(*this);
      co_await barrier();
    }
    contribute(round, ix::sum);
  }
  template <class Archive>
  void serialize(Archive& ar) {
    ar & round;
  }
};

ix::task<int> wanders(ix::runtime& rt, int rounds) {
  auto a = rt.create_array<wanderer>(ix::index1d(4));
  a.broadcast<&wanderer::run>(rounds, rt.num_pes() - 1);
  const int all = co_await a.reduction<int>();
  co_return all == 4 * rounds ? 0 : 5;
}

std::string said_of(int rounds, const job_shape& s) {
  const auto [code, errors] = run_and_listen(s, &wanders, rounds);
  EXPECT_EQ(code, 0);
  return errors;
}

TEST(chares_that_cannot_cross, are_named_once) {
  const std::string errors = said_of(400, {1, 2});
  const std::string what = " is to move to PE 1, which is of another process, and cannot as long as ";
  EXPECT_THAT(errors, HasSubstr(what));
  EXPECT_THAT(errors, ContainsRegex("wanderer.0. is to move .*wanderer::run has not ended.*wanderer::run>"));
  EXPECT_EQ(errors.find(what), errors.rfind(what));
}

TEST(chares_that_cannot_cross, are_no_reason_for_words_when_they_soon_can) {
  EXPECT_THAT(said_of(5, {1, 2}), Not(HasSubstr("is to move")));
  EXPECT_THAT(said_of(400, {2, 1}), Not(HasSubstr("is to move"))) << "inside a process it goes as it is";
}

}  // namespace

}  // namespace left_out_slot_test
