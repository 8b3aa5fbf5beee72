// Who runs tasks of the host while devices are at work.
#include <gtest/gtest.h>

#include <chrono>
#include <deque>
#include <memory>
#include <thread>
#include <vector>

#include "imbrex/hetero/placement/ready_list.h"
#include "imbrex/hetero/tasks/task_stealing.h"
#include "unit/hetero/graph/stepped_device.h"
#include "unit/hetero/hetero_fixture.h"

namespace host_beside_devices_test {

using namespace imbrex;
using namespace imbrex_test;

namespace {

/// Of so many PEs, of which this is the first and the others have no thread; one device, whose operations happen when
/// the test says so.
struct feeding_pe {
  explicit feeding_pe(int num_pes) : others(static_cast<std::size_t>(num_pes - 1)) {
    std::vector<executor*> pes{&pe.queue};
    for (executor& other : others) pes.push_back(&other);
    asleep = std::make_unique<sleepers>(pes);
    stealing = std::make_unique<task_stealing>(pes, *asleep);
    hetero_options o;
    o.device_bytes = 1 << 20;
    domain = std::make_unique<hetero_domain>(pe.queue, host, std::vector<device*>{&there}, o);
    domain->share_host_tasks(*stealing, 0);
  }
  void step_device() {
    for (bool any = true; any;) {
      any = false;
      for (stepped_stream* s : streams) {
        any |= s->pass_events();
        if (!s->can_step()) continue;
        s->step();
        any = true;
      }
      pe.run();
    }
  }

  bare_pe pe;
  std::deque<executor> others;
  host_memory memory;
  std::vector<stepped_stream*> streams;
  stepped_device host{0, memory, streams}, there{0, memory, streams};
  std::unique_ptr<sleepers> asleep;
  std::unique_ptr<task_stealing> stealing;
  std::unique_ptr<hetero_domain> domain;
};

/// How many of four tasks of the host have run before the device's task has ended; all have in the end.
int num_run_beside_device(int num_pes, std::chrono::microseconds each) {
  feeding_pe on(num_pes);
  hetero_object<double> x(*on.domain, 10);
  submit(
      *on.domain, {.on = device_kind::host, .number = 0}, [](stream& s, std::span<double>) { s.call("work", [] {}); },
      write(x));
  on.pe.run();
  int num_run = 0;
  for (int i = 0; i < 4; ++i) {
    hetero_object<double> y(*on.domain, 10);
    submit(
        *on.domain, {},
        [&num_run, each](std::span<double>) {
          ++num_run;
          std::this_thread::sleep_for(each);
        },
        write(y));
  }
  on.pe.run();
  const int beside = num_run;
  on.step_device();
  EXPECT_EQ(num_run, 4);
  EXPECT_EQ(on.domain->num_outstanding(), 0);
  return beside;
}

TEST(long_tasks_of_the_host, are_left_to_others_while_a_device_is_at_work) {
  EXPECT_EQ(num_run_beside_device(2, std::chrono::milliseconds(2)), 1) << "the first, of which nothing was known";
  EXPECT_EQ(num_run_beside_device(1, std::chrono::milliseconds(2)), 4) << "there is nobody else";
  EXPECT_EQ(num_run_beside_device(2, std::chrono::microseconds(0)), 4) << "they are short";
}

/// Of a policy that learns: it expects so much of every task of the host.
class expecting final : public placement_policy {
 public:
  explicit expecting(double ns) : ns_(ns) {}
  void push(task_node& t) override { ready_.push(t); }
  choice pop(const placement_view& view) override {
    if (ready_.empty()) return {};
    task_node& t = *ready_.take_first();
    for (const auto& p : view.places()) {
      if (view.eligible(t, *p)) return {&t, p.get()};
    }
    return {};
  }
  double expected_ns(const task_node&, const place& p) override { return p.is_host() ? ns_ : 1; }
  bool learns() const override { return true; }

 private:
  ready_list ready_;
  const double ns_;
};

TEST(tasks_of_the_host, of_which_nothing_is_known_are_left_to_others_while_a_device_is_at_work) {
  for (const double expected_ns : {-1.0, 1e9, 100.0}) {
    feeding_pe on(2);
    hetero_options o;
    o.device_bytes = 1 << 20;
    on.domain = nullptr;
    on.domain = std::make_unique<hetero_domain>(on.pe.queue, on.host, std::vector<device*>{&on.there}, o,
                                                std::make_unique<expecting>(expected_ns));
    on.domain->share_host_tasks(*on.stealing, 0);
    hetero_object<double> x(*on.domain, 10), y(*on.domain, 10);
    submit(
        *on.domain, {.on = device_kind::host, .number = 0}, [](stream& s, std::span<double>) { s.call("work", [] {}); },
        write(x));
    on.pe.run();
    bool ran = false;
    submit(*on.domain, {}, [&ran](std::span<double>) { ran = true; }, write(y));
    on.pe.run();
    EXPECT_EQ(ran, expected_ns == 100.0) << expected_ns;
    on.step_device();
    EXPECT_TRUE(ran);
  }
}

}  // namespace

}  // namespace host_beside_devices_test
