// Tasks whose data take long to come: what they wait for, what goes before them, and what is learnt from it.
#include <gmock/gmock.h>

#include <deque>
#include <set>
#include <string>
#include <thread>

#include "imbrex/hetero/placement/shortest_finish.h"
#include "unit/hetero/graph/stepped_device.h"
#include "unit/hetero/hetero_fixture.h"

namespace large_copies_test {

using namespace imbrex;
using namespace imbrex_test;
using testing::ElementsAre;

namespace {

/// A lane whose copies happen when the test says so.
struct stepped_lane : testing::Test {
  void copy(std::uint64_t bytes) {
    data->call("copy", [] {});
    link.given(data.put(), bytes);
  }
  void come() {
    while (stream->pass_events() || stream->can_step()) {
      if (stream->can_step()) stream->step();
    }
    pe.run();
  }

  std::vector<stepped_stream*> streams;
  bare_pe pe;
  host_memory memory;
  stepped_device there{0, memory, streams};
  stepped_stream* stream = new stepped_stream(there, streams, stream_priority::high, "data");
  lane data{std::unique_ptr<imbrex::stream>(stream), 0, true};
  incoming_link link{100, 1000};
};
using incoming_links = stepped_lane;

TEST_F(incoming_links, count_large_copies_until_they_have_come_and_learn_from_them) {
  copy(999);
  EXPECT_EQ(link.bytes_under_way(), 0) << "too small to tell anything";
  copy(1'000'000);
  EXPECT_EQ(link.bytes_under_way(), 1'000'000);
  EXPECT_DOUBLE_EQ(link.ns_for(500'000), 15'000);
  std::this_thread::sleep_for(std::chrono::milliseconds(2));
  come();
  EXPECT_EQ(link.bytes_under_way(), 0);
  EXPECT_LT(link.bytes_per_ns(), 76);  // it was 0.5 at most, and a quarter of the news counts
  EXPECT_GT(link.bytes_per_ns(), 75);
}

TEST_F(incoming_links, are_not_told_of_copies_that_never_happen) {
  copy(5000);
  data.abandon();
  pe.run();
  EXPECT_EQ(link.bytes_under_way(), 5000);
  EXPECT_DOUBLE_EQ(link.bytes_per_ns(), 100);
}

/// One device with one lane for kernels, all of whose operations happen when the test says so.
struct one_stepped_device {
  explicit one_stepped_device(std::uint64_t large_copy_bytes) {
    hetero_options o;
    o.device_bytes = 1 << 20;
    o.compute_lanes = 1;
    o.large_copy_bytes = large_copy_bytes;
    domain = std::make_unique<hetero_domain>(pe.queue, host, std::vector<device*>{&there}, o);
  }
  /// Of the streams of one urgency, all operations that are not behind anything.
  void step(stream_priority urgency) {
    for (bool any = true; any;) {
      any = false;
      for (stepped_stream* s : streams) any |= s->pass_events();
      for (stepped_stream* s : streams) {
        if (s->urgency() != urgency || !s->can_step()) continue;
        s->step();
        any = true;
      }
      pe.run();
    }
  }
  hetero_task on_device(const char* name, const hetero_object<double>& x) {
    return submit(
        *domain, {.on = device_kind::host, .number = 0},
        [this, name](stream& s, std::span<double>) { s.call(name, [this, name] { order.emplace_back(name); }); }, x);
  }

  bare_pe pe;
  host_memory memory;
  std::vector<stepped_stream*> streams;
  stepped_device host{0, memory, streams}, there{0, memory, streams};
  std::unique_ptr<hetero_domain> domain;
  std::vector<std::string> order;
};

TEST(large_copies, keep_no_task_from_running_that_needs_none) {
  for (const bool large : {false, true}) {
    one_stepped_device on(large ? 1 : 1 << 20);
    hetero_object<double> x(*on.domain, 10), y(*on.domain, 10);
    submit(*on.domain, {}, [](std::span<double> v) { v[0] = 1; }, write(x));
    submit(
        *on.domain, {.on = device_kind::host, .number = 0}, [](stream& s, std::span<double>) { s.call("make", [] {}); },
        write(y));
    on.pe.run();
    on.step(stream_priority::low);
    on.on_device("needs x", x);
    on.on_device("needs y", y);
    on.pe.run();
    on.step(stream_priority::low);
    if (large) {
      EXPECT_THAT(on.order, ElementsAre("needs y"));
    } else {
      EXPECT_THAT(on.order, ElementsAre()) << "the lane waits for the copy of x";
    }
    on.step(stream_priority::high);
    on.step(stream_priority::low);
    EXPECT_EQ(on.order.size(), 2);
    EXPECT_EQ(on.domain->num_outstanding(), 0);
    EXPECT_EQ(on.domain->places()[1]->num_tasks(), 0);
  }
}

TEST(large_copies, may_be_on_their_way_when_the_job_ends) {
  one_stepped_device on(1);
  hetero_object<double> x(*on.domain, 10);
  submit(*on.domain, {}, [](std::span<double> v) { v[0] = 1; }, write(x));
  const hetero_task waiting = on.on_device("needs x", x);
  on.pe.run();
  EXPECT_EQ(waiting.state(), task_state::fetching);
  EXPECT_EQ(on.domain->places()[1]->num_tasks_fetching, 1);
  x.release();
  on.domain.reset();
  EXPECT_EQ(waiting.state(), task_state::failed);
  EXPECT_THAT(on.order, ElementsAre());
}

TEST(large_copies, whose_task_is_cancelled_come_for_nothing) {
  one_stepped_device on(1);
  hetero_object<double> x(*on.domain, 10);
  submit(*on.domain, {}, [](std::span<double> v) { v[0] = 1; }, write(x));
  hetero_task waiting = on.on_device("needs x", x);
  on.pe.run();
  waiting.cancel();
  on.step(stream_priority::high);
  on.step(stream_priority::low);
  EXPECT_EQ(waiting.state(), task_state::failed);
  EXPECT_EQ(on.domain->places()[1]->num_tasks(), 0);
  EXPECT_EQ(on.domain->num_outstanding(), 0);
  EXPECT_THAT(on.order, ElementsAre());
}

struct bare_task final : task_node {
  static constexpr task_type its_type{};
  bare_task() : task_node(its_type) {}
};

/// Devices that always have room; data of tasks in `on_host` are there.
class view_of final : public placement_view {
 public:
  explicit view_of(const std::vector<std::unique_ptr<place>>& places) : places_(places) {}
  const std::vector<std::unique_ptr<place>>& places() const override { return places_; }
  bool eligible(const task_node&, const place& p) const override { return with_host || !p.is_host(); }
  missing_data missing(const task_node& t, const place&) const override {
    return {.from_host = on_host.contains(&t) ? 1'000'000U : 0U};
  }
  bool has_room(const place&) const override { return true; }
  std::set<const task_node*> on_host;
  bool with_host = false;

 private:
  const std::vector<std::unique_ptr<place>>& places_;
};

TEST(shortest_finish, gives_what_needs_no_link_while_that_is_busy_and_the_rest_in_order_afterwards) {
  one_stepped_device on(1000);
  const auto& places = on.domain->places();
  place& device = *places[1];
  view_of view(places);
  std::deque<bare_task> tasks(51);
  shortest_finish policy;
  for (std::size_t i = 0; i < tasks.size(); ++i) {
    tasks[i].age = i;
    if (i < 40) view.on_host.insert(&tasks[i]);
    policy.push(tasks[i]);
  }
  device.in()->call("copy", [] {});
  device.in().put();
  device.link_from(*places[0]).given(device.in().end(), 1'000'000'000);  // for 50 ms
  const auto all = [&] {
    std::vector<std::uint64_t> given;
    for (auto c = policy.pop(view); c.task != nullptr; c = policy.pop(view)) {
      EXPECT_EQ(c.at, &device);
      given.push_back(c.task->age);
    }
    return given;
  };
  EXPECT_THAT(all(), ElementsAre(40, 41, 42, 43, 44, 45, 46, 47, 48, 49, 50));
  bare_task urgent;
  urgent.age = 51;
  urgent.wishes.priority = 1;
  view.on_host.insert(&urgent);
  policy.push(urgent);
  EXPECT_THAT(all(), ElementsAre());
  on.step(stream_priority::high);
  EXPECT_EQ(device.link_from_host().bytes_under_way(), 0);
  const std::vector<std::uint64_t> rest = all();
  ASSERT_EQ(rest.size(), 41);
  EXPECT_EQ(rest[0], 51);
  for (std::uint64_t i = 0; i < 40; ++i) EXPECT_EQ(rest[i + 1], i);
}

TEST(shortest_finish, waits_for_a_busy_link_where_the_host_would_take_longer) {
  for (const double host_ns : {1e9, 1e6}) {
    one_stepped_device on(1000);
    const auto& places = on.domain->places();
    place& device = *places[1];
    view_of view(places);
    view.with_host = true;
    shortest_finish policy;
    std::deque<bare_task> tasks(3);
    policy.costs().learn(cost_model::key_of(tasks[0], *places[0]), host_ns);
    policy.costs().learn(cost_model::key_of(tasks[0], device), 1000);
    for (bare_task& t : tasks) {
      view.on_host.insert(&t);
      policy.push(t);
    }
    device.in()->call("copy", [] {});
    device.in().put();
    device.link_from(*places[0]).given(device.in().end(), 1'000'000'000);  // for 50 ms
    int num_on_host = 0;
    for (auto c = policy.pop(view); c.task != nullptr; c = policy.pop(view)) {
      EXPECT_TRUE(c.at->is_host());
      ++num_on_host;
    }
    EXPECT_EQ(num_on_host, host_ns < 1e7 ? 3 : 0);
    on.step(stream_priority::high);
    int num_there = 0;
    for (auto c = policy.pop(view); c.task != nullptr; c = policy.pop(view)) num_there += c.at == &device ? 1 : 0;
    EXPECT_EQ(num_there, 3 - num_on_host);
  }
}

}  // namespace

}  // namespace large_copies_test
