// Random graphs of tasks, as they run on GPUs and devices of OpenCL too, on devices of the host.
#include "device_graph.h"

#include "unit/hetero/hetero_fixture.h"

namespace device_graph_test {

using namespace imbrex;
using namespace imbrex_test;

namespace {

struct machine {
  const char* name;
  int devices;
  std::size_t objects_that_fit;
  const char* policy;
  bool large_copies = false;
};
void PrintTo(const machine& m, std::ostream* to) { *to << m.name; }

struct device_graphs : testing::TestWithParam<machine> {
  void run(unsigned seed, int num_tasks, int num_objects) {
    const machine& m = GetParam();
    hetero_options options{.policy = m.policy};
    if (m.large_copies) options.large_copy_bytes = 1;
    hetero_pe on(m.devices, m.objects_that_fit * graph_elements * sizeof(word), options);
    on.pe.queue.set_schedule_seed(seed);
    std::vector<int> numbers;
    for (int i = 0; i < m.devices; ++i) numbers.push_back(i);
    const auto turn = [&on] {
      on.pe.queue.collect();
      work* const w = on.pe.queue.next();
      if (w != nullptr) w->act(w, work_action::run);
      return w != nullptr;
    };
    {
      device_graph g({*on.domain, device_kind::host, numbers, turn}, seed, num_objects);
      g.grow(num_tasks);
      g.check();
      windows_on_device += g.num_windows_on_device();
      windows_on_several += g.num_windows_on_several();
    }
    while (turn()) {  // what was freed in the order of streams
    }
    EXPECT_EQ(on.memory.used().in_use, 0);
  }
  int windows_on_device = 0, windows_on_several = 0;
};

TEST_P(device_graphs, equal_sequential_execution) {
  for (unsigned seed = 1; seed <= 2 && !HasFatalFailure(); ++seed) run(seed, 10'000, 12);
}

TEST_P(device_graphs, of_few_objects_equal_sequential_execution) {
  for (unsigned seed = 1; seed <= 100 && !HasFatalFailure(); ++seed) run(seed, 60, 4);
  EXPECT_TRUE(windows_on_device > 0 || GetParam().devices < 2) << "a window of a device's own tasks is for it alone";
  EXPECT_EQ(windows_on_several > 0, GetParam().devices > 1) << "one of several devices' tasks for all of them";
}

INSTANTIATE_TEST_SUITE_P(machines, device_graphs,
                         testing::Values(machine{"one_device", 1, 1000, "locality"},
                                         machine{"one_small_device", 1, 4, "locality"},
                                         machine{"two_devices", 2, 1000, "locality"},
                                         machine{"two_small_devices", 2, 4, "locality"},
                                         machine{"three_devices_in_turn", 3, 1000, "round_robin"},
                                         machine{"three_small_devices_in_turn", 3, 4, "round_robin"},
                                         machine{"two_devices_learning", 2, 1000, "shortest_finish"},
                                         machine{"two_small_devices_learning", 2, 4, "shortest_finish"},
                                         machine{"three_with_large_copies", 3, 1000, "locality", true},
                                         machine{"two_with_large_copies", 2, 1000, "shortest_finish", true},
                                         machine{"small_with_large_copies", 2, 4, "shortest_finish", true}),
                         [](const auto& i) { return std::string(i.param.name); });

}  // namespace

}  // namespace device_graph_test
