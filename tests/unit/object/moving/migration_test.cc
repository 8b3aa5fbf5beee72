#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <imbrex/imbrex.h>

#include <atomic>
#include <stdexcept>
#include <string>
#include <vector>

#include "unit/object/job.h"

namespace migration_test {

namespace {

namespace ix = imbrex;
using imbrex_test::run_over_all_shapes;
using testing::HasSubstr;

std::atomic<int> alive{0};

struct nomad : ix::chare<nomad, ix::index1d> {
  nomad() { ++alive; }
  explicit nomad(int v) : value(v) { ++alive; }
  ~nomad() override { --alive; }

  void go(int to) { migrate_to(to); }
  int where() { return pe(); }
  void add(int n) { value += n; }
  int get() { return value; }
  void remember(std::string s) { memories.push_back(std::move(s)); }
  std::vector<std::string> recall() { return memories; }
  void contribute_and_go(int to) {
    contribute(1, ix::sum);
    migrate_to(to);
  }
  void contribute_here() { contribute(1, ix::sum); }
  void in_section(ix::section_proxy<nomad> s, int to) {
    contribute(s, value, ix::sum);
    if (to >= 0) migrate_to(to);
  }
  ix::task<int> take(int reference) {
    auto [number] = co_await letters(reference);
    co_return number;
  }
  /// Works, contributes and moves on, many times; whatever way the others are.
  void wander(int steps, std::uint64_t seed) {
    contribute(1, ix::sum);
    if (steps == 0) return;
    ix::random_sequence random(seed + static_cast<std::uint64_t>(index()));
    array()[static_cast<int>(random.below(static_cast<std::uint64_t>(extent().x)))].send<&nomad::add>(1);
    proxy().send<&nomad::wander>(steps - 1, random.next());
    if (random.below(2) == 0) migrate_to(static_cast<int>(random.below(static_cast<std::uint64_t>(num_pes()))));
  }
  void out_of_range() { migrate_to(num_pes()); }
  ix::task<> wait_and_go(int to) {
    migrate_to(to);
    co_await letters(99);
  }

  template <class Archive>
  void serialize(Archive& ar) {
    ar & value & memories & letters;
  }
  int value = 0;
  std::vector<std::string> memories;
  ix::when<int, int> letters;
};

ix::task<int> state_moves(ix::runtime& rt) {
  auto a = rt.create_array<nomad>(ix::index1d(5), 10);
  for (int i = 0; i < 5; ++i) {
    a[i].send<&nomad::remember>(fmt::format("born as {}", i));
    a[i].send<&nomad::letters>(7, 70 + i);
    a[i].send<&nomad::letters>(6, 60 + i);
  }
  co_await rt.quiescence();
  for (int round = 0; round < 4; ++round) {
    for (int i = 0; i < 5; ++i) {
      const int to = (i + round) % rt.num_pes();
      co_await a[i].call<&nomad::go>(to);
      const std::string memory = fmt::format("moved to {}", to);
      a[i].send<&nomad::remember>(memory);
      co_await rt.quiescence();
      const int where = co_await a[i].call<&nomad::where>();
      EXPECT_EQ(where, to);
      EXPECT_EQ(alive, 5);
    }
  }
  for (int i = 0; i < 5; ++i) {
    const std::vector<std::string> memories = co_await a[i].call<&nomad::recall>();
    EXPECT_EQ(memories.size(), 5u);
    EXPECT_EQ(memories.front(), fmt::format("born as {}", i));
    const int six = co_await a[i].call<&nomad::take>(6);
    const int seven = co_await a[i].call<&nomad::take>(7);
    EXPECT_EQ(six, 60 + i);
    EXPECT_EQ(seven, 70 + i);
  }
  co_return 0;
}

TEST(migration, takes_state_and_queued_messages_along) {
  run_over_all_shapes(state_moves);
  EXPECT_EQ(alive, 0);
}

struct sender : ix::chare<sender, ix::index1d> {
  void flood(ix::array_proxy<nomad> to, int count, int elements) {
    for (int k = 0; k < count; ++k) to[k % elements].send<&nomad::add>(1);
  }
};

ix::task<int> found_from_everywhere(ix::runtime& rt) {
  constexpr int elements = 4;
  auto a = rt.create_array<nomad>(ix::index1d(elements), 0);
  auto senders = rt.create_group<sender>();
  for (int round = 0; round < 6; ++round) {
    for (int i = 0; i < elements; ++i) a[i].send<&nomad::go>((i * 5 + round * 3) % rt.num_pes());
    senders.broadcast<&sender::flood>(a, 40, elements);  // some meet the elements on their way
    if (round % 2 == 0) co_await rt.quiescence();
  }
  co_await rt.quiescence();
  for (int i = 0; i < elements; ++i) {
    const int value = co_await a[i].call<&nomad::get>();
    EXPECT_EQ(value, 6 * 10 * rt.num_pes());
  }
  co_return 0;
}

TEST(migration, loses_no_message_from_anywhere) { run_over_all_shapes(found_from_everywhere); }

ix::task<int> inserted_then_moved(ix::runtime& rt) {
  auto a = rt.create_array<nomad>(ix::empty_array<ix::index1d>());
  for (int i = 0; i < 6; ++i) a.insert_on(i % rt.num_pes(), i, i);
  for (int i = 0; i < 6; ++i) a[i].send<&nomad::go>((i + 1) % rt.num_pes());
  co_await rt.quiescence();
  for (int i = 0; i < 6; ++i) {
    const int where = co_await a[i].call<&nomad::where>();
    EXPECT_EQ(where, (i + 1) % rt.num_pes());
    a[i].erase();
  }
  co_await rt.quiescence();
  EXPECT_EQ(alive, 0);
  for (int i = 0; i < 6; ++i) co_await a.insert_on((i + 2) % rt.num_pes(), i, 2 * i);
  for (int i = 0; i < 6; ++i) {
    const int value = co_await a[i].call<&nomad::get>();
    EXPECT_EQ(value, 2 * i);
  }
  co_return 0;
}

TEST(migration, mixes_with_insertion_and_deletion) { run_over_all_shapes(inserted_then_moved); }

ix::task<int> between_contributions(ix::runtime& rt) {
  constexpr int elements = 9;
  auto a = rt.create_array<nomad>(ix::index1d(elements), 0);
  for (int round = 0; round < 5; ++round) {
    for (int i = 0; i < elements; ++i) a[i].send<&nomad::contribute_and_go>((i * 7 + round) % rt.num_pes());
    for (int i = 0; i < elements; ++i) a[i].send<&nomad::contribute_here>();
    const int first = co_await a.reduction<int>();
    const int second = co_await a.reduction<int>();
    EXPECT_EQ(first, elements);
    EXPECT_EQ(second, elements);
  }
  co_return 0;
}

TEST(migration, between_contributions_keeps_reductions_right) { run_over_all_shapes(between_contributions); }

ix::task<int> all_wander(ix::runtime& rt, int steps) {
  constexpr int elements = 12;
  auto a = rt.create_array<nomad>(ix::index1d(elements), 0);
  for (int i = 0; i < elements; ++i) a[i].send<&nomad::wander>(steps, 17u);
  for (int k = 0; k <= steps; ++k) {
    const int count = co_await a.reduction<int>();
    EXPECT_EQ(count, elements);
  }
  co_await rt.quiescence();
  int sum = 0;
  for (int i = 0; i < elements; ++i) sum += co_await a[i].call<&nomad::get>();
  EXPECT_EQ(sum, elements * steps);
  co_return 0;
}

TEST(migration, of_all_the_time_loses_neither_messages_nor_contributions) { run_over_all_shapes(all_wander, 30); }

ix::task<int> sections_follow(ix::runtime& rt) {
  auto a = rt.create_array<nomad>(ix::index1d(8), 1);
  const std::vector<ix::index1d> odd{1, 3, 5, 7};
  auto s = a.section(odd);
  for (int round = 0; round < 5; ++round) {
    s.broadcast<&nomad::in_section>(s, (round * 3) % rt.num_pes());
    const int moving = co_await s.reduction<int>();
    EXPECT_EQ(moving, 4);
    co_await rt.quiescence();
    s.broadcast<&nomad::in_section>(s, -1);
    const int standing = co_await s.reduction<int>();
    EXPECT_EQ(standing, 4);
  }
  co_return 0;
}

TEST(migration, keeps_sections_together) { run_over_all_shapes(sections_follow); }

ix::task<int> to_nowhere(ix::runtime& rt) {
  auto a = rt.create_array<nomad>(ix::index1d(2), 0);
  try {
    co_await a[1].call<&nomad::out_of_range>();
    ADD_FAILURE() << "nothing was thrown";
  } catch (const ix::usage_error& e) {
    EXPECT_THAT(e.what(), HasSubstr("nomad(1) cannot move to PE"));
  }
  co_return 0;
}

TEST(migration, to_a_pe_that_does_not_exist_is_an_error) { run_over_all_shapes(to_nowhere); }

ix::task<int> while_waiting(ix::runtime& rt) {
  auto a = rt.create_array<nomad>(ix::index1d(2), 0);
  const int where = co_await a[1].call<&nomad::where>();
  const int to = (where + 1) % rt.num_pes();
  auto waiting = a[1].call<&nomad::wait_and_go>(to);
  auto meanwhile = [](ix::array_proxy<nomad> all, ix::runtime& on) -> ix::task<int> {
    co_await on.quiescence();
    const int waits_on = co_await all[1].call<&nomad::where>();
    all[1].send<&nomad::letters>(99, 0);
    co_return waits_on;
  };
  auto both = ix::when_all(std::move(waiting), meanwhile(a, rt));
  const auto [nothing, waits_on] = co_await std::move(both);
  static_cast<void>(nothing);
  EXPECT_EQ(waits_on, to / (rt.num_pes() / 2) == where / (rt.num_pes() / 2) && rt.num_pes() == 4 ? to : where);
  co_await rt.quiescence();
  const int after = co_await a[1].call<&nomad::where>();
  EXPECT_EQ(after, to);
  co_return 0;
}

// One PE on each of two ranks, and two.
TEST(migration, between_processes_waits_for_the_end_of_coroutines) {
  for (const imbrex_test::job_shape& s : {imbrex_test::job_shape{1, 2}, {2, 2}})
    EXPECT_EQ(imbrex_test::run_job_with(s, while_waiting), 0);
}

/// Goes to other PEs of a process, not to other ranks.
struct unwilling {
  int number = 0;
  template <class Archive>
  void serialize(Archive& ar) {
    if (!Archive::is_loading && number == 13) throw std::runtime_error("13 does not travel");
    ar & number;
  }
};

struct host_of_unwilling : ix::chare<host_of_unwilling, ix::index1d> {
  void go(int to) { migrate_to(to); }
  int take(unwilling u) { return u.number; }
  template <class Archive>
  void serialize(Archive&) {}
};

/// To one that is still here when it is sent, and elsewhere when it would be performed.
ix::task<int> sends_what_does_not_travel(ix::runtime& rt, bool call) {
  auto a = rt.create_array<host_of_unwilling>(2);
  const int here = co_await a[0].call<&host_of_unwilling::take>(unwilling{5});
  EXPECT_EQ(here, 5);
  a[0].send<&host_of_unwilling::go>(rt.num_pes() - 1);
  if (!call) {
    a[0].send<&host_of_unwilling::take>(unwilling{13});
    co_return 0;
  }
  bool thrown = false;
  try {
    const int there = co_await a[0].call<&host_of_unwilling::take>(unwilling{13});
    EXPECT_EQ(there, 0);
  } catch (const std::runtime_error& e) {
    EXPECT_THAT(e.what(), HasSubstr("13 does not travel"));
    thrown = true;
  }
  EXPECT_TRUE(thrown);
  const int later = co_await a[0].call<&host_of_unwilling::take>(unwilling{6});
  co_return later == 6 ? 0 : 1;
}

TEST(migration, of_an_element_does_not_hide_who_sent_what_cannot_follow_it) {
  for (const imbrex_test::job_shape& s : {imbrex_test::job_shape{1, 2}, {2, 2}}) {
    SCOPED_TRACE(to_text(s));
    EXPECT_EQ(imbrex_test::run_job_with(s, sends_what_does_not_travel, true), 0);
    const auto [code, errors] = imbrex_test::run_and_listen(s, sends_what_does_not_travel, false);
    EXPECT_EQ(code, 70);
    EXPECT_THAT(errors, HasSubstr("host_of_unwilling::take of element (0), going on"));
    EXPECT_THAT(errors, HasSubstr("13 does not travel"));
  }
}

}  // namespace

}  // namespace migration_test
