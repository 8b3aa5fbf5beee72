// Random graphs of tasks over GPUs, alone and beside a device of the host.
#include <numeric>

#include "gpu_fixture.h"
#include "imbrex/device/host/host_device.h"
#include "unit/hetero/graph/device_graph.h"

namespace gpu_graph_test {

using namespace imbrex;
using namespace imbrex_test;

namespace {

struct machine {
  const char* name;
  int gpus;
  bool host_device;  ///< a device of the host besides
  std::size_t objects_that_fit;
  const char* policy;
  completion_mode noticed;
};
void PrintTo(const machine& m, std::ostream* to) { *to << m.name; }

struct gpu_graphs : testing::TestWithParam<machine> {
  void SetUp() override {
    SKIP_WITHOUT_GPU(GetParam().gpus);
    std::vector<int> numbers(static_cast<std::size_t>(GetParam().gpus));
    std::iota(numbers.begin(), numbers.end(), 0);
    gpu = std::make_unique<gpu_pe>(GetParam().noticed, numbers);
    host = std::make_unique<host_device>(gpu->pe.queue, 0, memory);
    beside = std::make_unique<host_device>(gpu->pe.queue, 1, memory);
  }
  void run(unsigned seed, int num_tasks, int num_objects) {
    const machine& m = GetParam();
    gpu->pe.queue.set_schedule_seed(seed);
    std::vector<device*> devices;
    std::vector<int> numbers;
    for (const auto& d : gpu->devices) {
      devices.push_back(d.get());
      numbers.push_back(d->number());
    }
    if (m.host_device) devices.push_back(beside.get());
    hetero_options options{.policy = m.policy};
    options.device_bytes = m.objects_that_fit * graph_elements * sizeof(word);
    hetero_domain domain(gpu->pe.queue, *host, devices, options);
    const auto turn = [this] {
      gpu->pe.run();
      gpu->completion->ensure_noticed();
      gpu->completion->poll();
    };
    {
      device_graph g({domain, device_kind::cuda, numbers, turn}, seed, num_objects);
      g.grow(num_tasks);
      g.check();
      num_windows_on_device += g.num_windows_on_device();
      num_graphs += g.num_graphs();
    }
    gpu->completion->drain(INT64_MAX);
  }

  std::unique_ptr<gpu_pe> gpu;
  host_memory memory;
  std::unique_ptr<host_device> host, beside;
  int num_windows_on_device = 0, num_graphs = 0;
};

TEST_P(gpu_graphs, equal_sequential_execution) {
  for (unsigned seed = 1; seed <= 3 && !HasFatalFailure(); ++seed) run(seed, 10'000, 12);
  EXPECT_GT(num_windows_on_device, 0);
  EXPECT_GT(num_graphs, 0);
}

TEST_P(gpu_graphs, of_few_objects_equal_sequential_execution) {
  for (unsigned seed = 1; seed <= 100 && !HasFatalFailure(); ++seed) run(seed, 60, 4);
}

constexpr std::size_t all = 1000, few = 4;
INSTANTIATE_TEST_SUITE_P(
    machines, gpu_graphs,
    testing::Values(machine{"one", 1, false, all, "locality", completion_mode::flag},
                    machine{"one_small", 1, false, few, "locality", completion_mode::event},
                    machine{"one_in_turn", 1, false, all, "round_robin", completion_mode::callback},
                    machine{"one_small_in_turn", 1, false, few, "round_robin", completion_mode::sync},
                    machine{"one_learning", 1, false, all, "shortest_finish", completion_mode::flag},
                    machine{"one_small_learning", 1, false, few, "shortest_finish", completion_mode::flag},
                    machine{"mixed", 1, true, all, "locality", completion_mode::flag},
                    machine{"mixed_small", 1, true, few, "locality", completion_mode::callback},
                    machine{"mixed_small_in_turn", 1, true, few, "round_robin", completion_mode::flag},
                    machine{"mixed_small_learning", 1, true, few, "shortest_finish", completion_mode::event},
                    machine{"two", 2, false, all, "locality", completion_mode::flag},
                    machine{"two_small", 2, false, few, "locality", completion_mode::flag},
                    machine{"two_in_turn", 2, false, all, "round_robin", completion_mode::flag},
                    machine{"two_small_in_turn", 2, false, few, "round_robin", completion_mode::event},
                    machine{"two_learning", 2, false, all, "shortest_finish", completion_mode::flag},
                    machine{"two_mixed_small_learning", 2, true, few, "shortest_finish", completion_mode::flag}),
    [](const auto& i) { return std::string(i.param.name); });

}  // namespace

}  // namespace gpu_graph_test
