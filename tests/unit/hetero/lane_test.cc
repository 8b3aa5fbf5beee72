#include "imbrex/hetero/lane.h"

#include <gmock/gmock.h>

#include <string>
#include <vector>

#include "hetero_fixture.h"
#include "unit/hetero/graph/stepped_device.h"

namespace lane_test {

using namespace imbrex;
using namespace imbrex_test;

namespace {

/// What is behind a copy waits for it, and not for the copies after it.
TEST(lane, of_data_is_waited_for_up_to_the_point) {
  for (const bool keeps_points : {false, true}) {
    hetero_pe on;
    lane data(on.host.make_stream(stream_priority::low, "data"), 0, keeps_points);
    lane urgent(on.host.make_stream(stream_priority::high, "urgent"), 1);
    std::vector<std::string> order;
    data->call("first", [&order] { order.emplace_back("first"); });
    const lane_point first = data.put();
    data->call("second", [&order] { order.emplace_back("second"); });
    data.put();
    urgent.wait(first);
    urgent->call("behind first", [&order] { order.emplace_back("behind first"); });
    on.pe.run();
    if (keeps_points) {
      EXPECT_THAT(order, testing::ElementsAre("first", "behind first", "second"));
    } else {
      EXPECT_THAT(order, testing::ElementsAre("first", "second", "behind first"));
    }
  }
}

TEST(lane, points_that_have_been_reached_are_forgotten) {
  hetero_pe on;
  lane data(on.host.make_stream(stream_priority::low, "data"), 0, true);
  lane other(on.host.make_stream(stream_priority::high, "other"), 1);
  for (int i = 0; i < 100; ++i) {
    data->call("work", [] {});
    const lane_point p = data.put();
    other.wait(p);
    data.flush();
    on.pe.run();
    EXPECT_TRUE(p.reached());
    EXPECT_EQ(data.num_points(), 0);
  }
}

TEST(lane, that_is_abandoned_tells_who_waits_and_counts_as_reached) {
  struct counting : lane_wait {
    int num_reached = 0, num_abandoned = 0;
  };
  hetero_pe on;
  lane data(on.host.make_stream(stream_priority::low, "data"), 0, true);
  data->call("work", [] {});
  const lane_point p = data.put();
  counting a;
  a.reached = [](lane_wait* x) {
    auto& self = *static_cast<counting*>(x);
    ++(x->is_abandoned() ? self.num_abandoned : self.num_reached);
  };
  data.when_reached(p.number, &a);
  data.abandon();
  EXPECT_TRUE(p.reached());
  EXPECT_TRUE(data.idle());
  EXPECT_EQ(a.num_abandoned, 1);
  EXPECT_EQ(a.num_reached, 0);
  on.pe.run();
  EXPECT_EQ(a.num_abandoned + a.num_reached, 1);
}

/// Everything happens that can, but on device `idle`.
void run_all_but(const device* idle, bare_pe& pe, std::vector<stepped_stream*>& streams) {
  for (bool any = true; any;) {
    any = false;
    for (stepped_stream* s : streams) any |= s->pass_events();
    pe.queue.collect();
    while (work* const w = pe.queue.next()) {
      w->act(w, work_action::run);
      any = true;
    }
    for (stepped_stream* s : streams) {
      if (&s->on() == idle || !s->can_step()) continue;
      s->step();
      any = true;
    }
  }
}

TEST(lane, what_comes_from_the_host_does_not_wait_for_other_devices) {
  bare_pe pe;
  host_memory memory;
  std::vector<stepped_stream*> streams;
  stepped_device host(0, memory, streams), first(0, memory, streams), second(1, memory, streams);
  bool has_x = false, has_y = false;
  {
    hetero_domain domain(pe.queue, host, {&first, &second}, {.device_bytes = 1 << 20});
    hetero_object<double> x(domain, 10), y(domain, 10);
    submit(domain, {}, [](std::span<double> v) { v[0] = 1; }, write(y));
    run_all_but(nullptr, pe, streams);
    const task_options there{.on = device_kind::host, .number = 1};
    submit(
        domain, {.on = device_kind::host, .number = 0},
        [](stream& s, std::span<double> v) { s.call("make x", [v] { v[0] = 2; }); }, write(x));
    submit(
        domain, there,
        [&](stream& s, std::span<const double> v) { s.call("use x", [&has_x, v] { has_x = v[0] == 2; }); }, x);
    run_all_but(&first, pe, streams);
    submit(
        domain, there,
        [&](stream& s, std::span<const double> v) { s.call("use y", [&has_y, v] { has_y = v[0] == 1; }); }, y);
    run_all_but(&first, pe, streams);  // which has not made x yet
    EXPECT_FALSE(has_x);
    EXPECT_TRUE(has_y);
    run_all_but(nullptr, pe, streams);
    EXPECT_TRUE(has_x);
    EXPECT_EQ(domain.num_outstanding(), 0);
  }
}

}  // namespace

}  // namespace lane_test
