#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <deque>
#include <map>
#include <vector>

#include "imbrex/hetero/placement/host_tasks.h"
#include "imbrex/hetero/placement/shortest_finish.h"
#include "unit/hetero/graph/stepped_device.h"
#include "unit/hetero/hetero_fixture.h"

namespace ready_tasks_test {

// What waits at one place does not hold up what can run at another, and many that wait cost no more than few.
using namespace imbrex;
using namespace imbrex_test;

namespace {

/// A domain of two devices that take one task each.
hetero_options one_task_each(const std::string& policy) {
  hetero_options o;
  o.policy = policy;
  o.tasks_under_way = 1;
  return o;
}

class every_policy : public testing::TestWithParam<const char*> {};

TEST_P(every_policy, runs_tasks_of_the_host_while_a_device_is_full) {
  hetero_pe on(1, 1 << 20, one_task_each(GetParam()));
  std::vector<hetero_object<double>> all;
  std::vector<int> order;
  auto of_device = [&order](stream& s, std::span<double>) { s.call("slow", [&order] { order.push_back(1); }); };
  for (int i = 0; i < 3; ++i) {
    all.push_back(on.object<double>(8));
    submit(*on.domain, {.on = device_kind::host, .number = 0}, of_device, write(all.back()));
  }
  const hetero_task on_host = submit(*on.domain, {}, [&order] { order.push_back(0); });
  on.dispatch(4);  // devices have been given what they take, and have not begun
  EXPECT_EQ(on_host.state(), task_state::done);
  on.pe.run();
  EXPECT_EQ(order.size(), 4);
  EXPECT_EQ(order.front(), 0);
}

TEST_P(every_policy, fills_the_second_device_while_the_first_is_full) {
  hetero_pe on(2, 1 << 20, one_task_each(GetParam()));
  std::vector<hetero_object<double>> all;
  std::vector<hetero_task> tasks;
  auto work = [](stream& s, std::span<double> v) { s.call("work", [v] { v[0] = 1; }); };
  for (const int device : {0, 0, 0, 1}) {
    all.push_back(on.object<double>(8));
    tasks.push_back(submit(*on.domain, {.on = device_kind::host, .number = device}, work, write(all.back())));
  }
  on.dispatch(4);
  EXPECT_EQ(tasks[3].state(), task_state::issued);
  EXPECT_EQ(tasks[1].state(), task_state::ready);
  on.pe.run();
  for (const hetero_task& t : tasks) EXPECT_EQ(t.state(), task_state::done);
}

INSTANTIATE_TEST_SUITE_P(, every_policy, testing::Values("locality", "round_robin", "shortest_finish"),
                         [](const auto& i) { return std::string(i.param); });

/// Counts what a policy asks for.
class counting_view final : public placement_view {
 public:
  counting_view(const std::vector<std::unique_ptr<place>>& places, std::size_t room) : places_(places), room_(room) {}
  const std::vector<std::unique_ptr<place>>& places() const override { return places_; }
  bool eligible(const task_node&, const place& p) const override { return !p.is_host(); }
  missing_data missing(const task_node& t, const place& p) const override {
    ++num_asked;
    return {.from_host = t.bytes() == static_cast<std::uint64_t>(p.number()) ? 0U : 8U};
  }
  bool has_room(const place& p) const override { return given_[p.number()] < room_; }
  void give(const place& p) { ++given_[p.number()]; }
  void finish(const place& p) { --given_[p.number()]; }
  mutable std::uint64_t num_asked = 0;

 private:
  const std::vector<std::unique_ptr<place>>& places_;
  const std::size_t room_;
  mutable std::map<int, std::size_t> given_;
};

struct bare_task final : task_node {
  static constexpr task_type its_type{};
  bare_task() : task_node(its_type) {}
};

/// Tasks whose data are all at the first of three devices, of which the second always has room.
std::uint64_t questions_for_each_of(int num_tasks) {
  hetero_pe on(3, 1 << 20);
  const auto& places = on.domain->places();
  counting_view view(places, 4);
  const auto policy = make_placement_policy("locality");
  std::vector<std::unique_ptr<bare_task>> tasks;
  for (int i = 0; i < num_tasks; ++i) {
    tasks.push_back(std::make_unique<bare_task>());
    tasks.back()->extras().bytes = 1;  // where its data are
    tasks.back()->age = static_cast<std::uint64_t>(i);
    policy->push(*tasks.back());
  }
  int num_given = 0;
  std::vector<place*> running;
  while (num_given < num_tasks) {
    const placement_policy::choice c = policy->pop(view);
    if (c.task != nullptr) {
      EXPECT_EQ(c.at, places[1].get());
      ++num_given;
      view.give(*c.at);
      running.push_back(c.at);
    } else {
      view.finish(*running.back());
      running.pop_back();
    }
  }
  return view.num_asked / static_cast<std::uint64_t>(num_tasks);
}

TEST(ready_tasks, of_a_full_place_cost_no_more_when_there_are_many) {
  const std::uint64_t of_few = questions_for_each_of(64), of_many = questions_for_each_of(4096);
  EXPECT_LE(of_many, 2 * of_few) << of_few << " of 64";
}

TEST(ready_tasks, of_long_ones_a_device_is_given_few_and_the_urgent_first) {
  constexpr std::size_t lanes = 3;
  hetero_options options;
  options.compute_lanes = static_cast<int>(lanes);
  hetero_pe on(1, 1 << 20, options);
  place& device = *on.domain->places()[1];
  const counting_view view(on.domain->places(), 64);
  std::deque<bare_task> tasks(12);
  shortest_finish policy;
  tasks.back().at = &device;
  policy.finished(tasks.back(), 1'000'000);  // what such tasks take, in nanoseconds
  tasks.pop_back();
  for (bare_task& t : tasks) policy.push(t);
  std::vector<task_node*> given;
  const auto give = [&] {
    for (auto c = policy.pop(view); c.task != nullptr; c = policy.pop(view)) {
      EXPECT_EQ(c.at, &device);
      c.task->at = c.at;
      ++device.num_tasks_under_way;
      given.push_back(c.task);
    }
  };
  give();
  EXPECT_EQ(given.size(), lanes);  // 3 ms of work
  bare_task urgent;
  urgent.wishes.priority = 1;
  policy.push(urgent);
  --device.num_tasks_under_way;
  policy.finished(*given[0], 1'000'000);
  give();
  ASSERT_EQ(given.size(), lanes + 1);
  EXPECT_EQ(given.back(), &urgent);
  device.num_tasks_under_way = 0;
}

TEST(ready_tasks, of_which_nothing_is_known_each_place_is_given_one_to_learn_from) {
  hetero_pe on(3, 1 << 20);
  const counting_view view(on.domain->places(), 64);
  std::deque<bare_task> tasks(7);
  shortest_finish policy;
  for (bare_task& t : tasks) policy.push(t);
  std::vector<int> given;
  const auto give = [&](int most) {
    for (; most > 0; --most) {
      const auto c = policy.pop(view);
      ASSERT_NE(c.task, nullptr);
      c.task->at = c.at;
      given.push_back(c.at->number());
    }
  };
  give(3);
  EXPECT_EQ(given, (std::vector{1, 2, 3}));
  policy.finished(tasks[1], 1000);  // the three are devices of one name
  give(4);
  EXPECT_EQ(given, (std::vector{1, 2, 3, 1, 2, 3, 1})) << "after what they have been given since";
}

/// Tasks may run on the host, too.
class view_with_host final : public placement_view {
 public:
  explicit view_with_host(const std::vector<std::unique_ptr<place>>& places) : places_(places) {}
  const std::vector<std::unique_ptr<place>>& places() const override { return places_; }
  bool eligible(const task_node&, const place&) const override { return true; }
  missing_data missing(const task_node&, const place&) const override { return {}; }
  bool has_room(const place&) const override { return true; }

 private:
  const std::vector<std::unique_ptr<place>>& places_;
};

TEST(ready_tasks, of_which_nothing_is_known_wait_for_a_device_before_the_host_is_given_one) {
  bare_pe pe;
  host_memory memory;
  std::vector<stepped_stream*> streams;
  stepped_device host{0, memory, streams}, there{0, memory, streams};  // of a name that is not the host's
  const hetero_domain domain(pe.queue, host, std::vector<device*>{&there}, {.device_bytes = 1 << 20});
  const view_with_host view(domain.places());
  std::deque<bare_task> tasks(30);
  shortest_finish policy;
  for (bare_task& t : tasks) policy.push(t);
  const auto give = [&] {
    const auto c = policy.pop(view);
    if (c.task != nullptr) c.task->at = c.at;
    return c;
  };
  const auto first = give();
  ASSERT_NE(first.task, nullptr);
  EXPECT_EQ(first.at->number(), 1);
  EXPECT_EQ(give().task, nullptr) << "it might be much faster there";
  policy.finished(*first.task, 40'000);
  const auto second = give();
  ASSERT_NE(second.task, nullptr);
  EXPECT_TRUE(second.at->is_host());
  policy.finished(*second.task, 50'000'000);
  for (int i = 0; i < 28; ++i) {
    const auto c = give();
    ASSERT_NE(c.task, nullptr);
    EXPECT_EQ(c.at->number(), 1) << i;
  }
}

TEST(ready_tasks, that_never_ran_teach_nothing) {
  hetero_pe on(1, 1 << 20);
  const view_with_host view(on.domain->places());
  std::deque<bare_task> tasks(4);
  shortest_finish policy;
  for (bare_task& t : tasks) policy.push(t);
  for (int i = 0; i < 3; ++i) {
    const auto c = policy.pop(view);
    ASSERT_NE(c.task, nullptr) << "the one before has failed";
    EXPECT_EQ(c.at->number(), 1);
    c.task->at = c.at;
    policy.finished(*c.task, 0);
  }
  EXPECT_TRUE(policy.costs().all().empty());
}

TEST(ready_tasks, are_in_order_of_priority_and_arrival) {
  ready_list list;
  std::vector<std::unique_ptr<bare_task>> tasks;
  for (const int priority : {0, 5, -3, 5, 0, 7, -3, 0}) {
    tasks.push_back(std::make_unique<bare_task>());
    tasks.back()->wishes.priority = priority;
    list.push(*tasks.back());
  }
  const auto take_all = [&] {
    std::vector<std::ptrdiff_t> order;
    while (!list.empty()) {
      const task_node* const t = list.take_after(nullptr);
      order.push_back(std::find_if(tasks.begin(), tasks.end(), [&](const auto& u) { return u.get() == t; }) -
                      tasks.begin());
    }
    return order;
  };
  EXPECT_EQ(list.take_after(tasks[3].get()), tasks[0].get());  // the first of its priority, from the middle
  EXPECT_EQ(list.take_after(tasks[4].get()), tasks[7].get());  // the last of it
  list.push(*tasks[7]);
  list.push(*tasks[0]);
  EXPECT_EQ(take_all(), (std::vector<std::ptrdiff_t>{5, 1, 3, 4, 7, 0, 2, 6}));
}

TEST(host_tasks, are_taken_the_most_urgent_first_and_of_equals_the_oldest) {
  std::deque<bare_task> nodes(200);
  host_tasks queue(2);
  std::vector<std::pair<int, std::size_t>> expected;
  std::uint64_t random = 12345;
  const auto take_one = [&] {
    const auto best = std::max_element(expected.begin(), expected.end(), [](const auto& a, const auto& b) {
      return a.first != b.first ? a.first < b.first : a.second > b.second;
    });
    ASSERT_EQ(queue.take().task, &nodes[best->second]);
    expected.erase(best);
  };
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    random = random * 6364136223846793005U + 1442695040888963407U;
    nodes[i].wishes.priority = static_cast<int>(random >> 61) - 3;
    queue.push(nodes[i]);
    expected.emplace_back(nodes[i].wishes.priority, i);
    EXPECT_EQ(queue.size(), static_cast<int>(expected.size()));
    if (random >> 40 & 1U) take_one();
  }
  while (!expected.empty()) take_one();
  EXPECT_EQ(queue.take().task, nullptr);
  EXPECT_EQ(queue.size(), 0);
}

}  // namespace

}  // namespace ready_tasks_test
