// Random graphs of tasks over all devices of OpenCL, alone and beside one of the host.
#include "imbrex/device/host/host_device.h"
#include "opencl_fixture.h"
#include "unit/hetero/graph/device_graph.h"

namespace opencl_graph_test {

using namespace imbrex;
using namespace imbrex_test;

namespace {

struct machine {
  const char* name;
  bool host_device;  ///< a device of the host besides
  std::size_t objects_that_fit;
  const char* policy;
};
void PrintTo(const machine& m, std::ostream* to) { *to << m.name; }

struct opencl_graphs : testing::TestWithParam<machine> {
  void SetUp() override {
    SKIP_WITHOUT_OPENCL();
    cl = std::make_unique<opencl_pe>();
    host = std::make_unique<host_device>(cl->pe.queue, 0, memory);
    beside = std::make_unique<host_device>(cl->pe.queue, 1, memory);
  }
  void run(unsigned seed, int num_tasks, int num_objects) {
    const machine& m = GetParam();
    cl->pe.queue.set_schedule_seed(seed);
    std::vector<device*> devices;
    std::vector<int> numbers;
    for (const auto& d : cl->devices) {
      devices.push_back(d.get());
      numbers.push_back(d->number());
    }
    if (m.host_device) devices.push_back(beside.get());
    hetero_options options{.policy = m.policy};
    options.device_bytes = m.objects_that_fit * graph_elements * sizeof(word);
    hetero_domain domain(cl->pe.queue, *host, devices, options);
    const auto turn = [this] {
      cl->pe.run();
      cl->completion.poll();
    };
    device_graph g({domain, device_kind::opencl, numbers, turn}, seed, num_objects);
    g.grow(num_tasks);
    g.check();
    windows_on_device += g.num_windows_on_device();
  }

  std::unique_ptr<opencl_pe> cl;
  host_memory memory;
  std::unique_ptr<host_device> host, beside;
  int windows_on_device = 0;
};

TEST_P(opencl_graphs, equal_sequential_execution) { run(1, 10'000, 12); }

TEST_P(opencl_graphs, of_few_objects_equal_sequential_execution_on_several_devices) {
  for (unsigned seed = 1; seed <= 30 && !HasFatalFailure(); ++seed) run(seed, 60, 4);
  EXPECT_GT(windows_on_device, 0);
}

INSTANTIATE_TEST_SUITE_P(machines, opencl_graphs,
                         testing::Values(machine{"alone", false, 1000, "locality"},
                                         machine{"alone_small", false, 4, "locality"},
                                         machine{"mixed", true, 1000, "locality"},
                                         machine{"mixed_small", true, 4, "locality"},
                                         machine{"mixed_in_turn", true, 1000, "round_robin"},
                                         machine{"mixed_small_in_turn", true, 4, "round_robin"},
                                         machine{"mixed_learning", true, 1000, "shortest_finish"},
                                         machine{"mixed_small_learning", true, 4, "shortest_finish"}),
                         [](const auto& i) { return std::string(i.param.name); });

}  // namespace

}  // namespace opencl_graph_test
