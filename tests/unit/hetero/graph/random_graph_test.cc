#include <random>

#include "imbrex/base/error.h"
#include "unit/hetero/hetero_fixture.h"

namespace random_graph_test {

using namespace imbrex;
using namespace imbrex_test;

namespace {

constexpr std::size_t elements = 16;

/// What a task does to its objects, whatever runs it: so that the result shows who came before whom.
void mix(std::uint64_t id, std::span<const std::uint64_t> a, std::span<const std::uint64_t> b,
         std::span<std::uint64_t> c, bool overwrites) {
  for (std::size_t i = 0; i < elements; ++i) {
    const std::uint64_t before = overwrites ? 0 : c[i];
    c[i] = (before ^ (a[i] * 0x9e3779b97f4a7c15)) + (b[(i + 1) % elements] >> 7) + id;
  }
}

struct machine {
  const char* name;
  int devices;
  std::uint64_t objects_that_fit;
  const char* policy;
  int under_way;
  bool large_copies = false;
};

void PrintTo(const machine& m, std::ostream* out) { *out << m.name; }

struct random_graph : testing::TestWithParam<machine> {};

struct sum_of {
  void operator()(std::uint64_t& into, std::uint64_t&& from) const { into += from; }
};

/// Adds to an object in whatever order, or apart from others.
void add_to(hetero_pe& on, const machine& m, std::vector<hetero_object<std::uint64_t>>& objects,
            std::vector<std::vector<std::uint64_t>>& expected, std::size_t a, std::size_t c, std::uint64_t id,
            bool apart, int priority) {
  const auto add = [id](std::span<const std::uint64_t> x, std::span<std::uint64_t> z) {
    for (std::size_t i = 0; i < elements; ++i) z[i] += x[(i + id) % elements] * (id | 1U);
  };
  const auto there = [add](stream& s, std::span<const std::uint64_t> x, std::span<std::uint64_t> z) {
    s.call("add", [=] { add(x, z); });
  };
  add(expected[a], expected[c]);
  const task_options o{.priority = priority};
  const bool on_host = m.devices == 0 || id % 3 == 0;
  if (apart && on_host) {
    submit(*on.domain, o, add, objects[a], reduce(objects[c], sum_of{}, std::uint64_t{0}).over(1 + id % 4));
  } else if (apart) {
    submit(*on.domain, o, there, objects[a], reduce(objects[c], sum_of{}, std::uint64_t{0}).over(1 + id % 4));
  } else if (on_host) {
    submit(*on.domain, o, add, objects[a], commute(objects[c]));
  } else {
    submit(*on.domain, o, there, objects[a], commute(objects[c]));
  }
}

/// One graph, on the machine and in sequence.
void run_graph(const machine& m, unsigned seed, int num_tasks, int num_objects) {
  hetero_options options;
  options.policy = m.policy;
  options.tasks_under_way = m.under_way;
  if (m.large_copies) options.large_copy_bytes = 1;
  hetero_pe on(m.devices, m.objects_that_fit * elements * sizeof(std::uint64_t), options);
  on.pe.queue.set_schedule_seed(seed);
  std::mt19937 random(seed);
  const auto pick = [&](int n) { return static_cast<std::size_t>(random() % static_cast<unsigned>(n)); };

  std::vector<hetero_object<std::uint64_t>> objects;
  std::vector<std::vector<std::uint64_t>> expected;
  std::vector<std::vector<std::uint64_t>> own(static_cast<std::size_t>(num_objects));  // memory of some objects
  for (int i = 0; i < num_objects; ++i) {
    if (i % 3 == 1) {
      own[static_cast<std::size_t>(i)].resize(elements);
      objects.push_back(hetero_object<std::uint64_t>::over(*on.domain, own[static_cast<std::size_t>(i)]));
    } else {
      objects.push_back(on.object<std::uint64_t>(elements));
    }
    expected.emplace_back(elements, i);
    submit(
        *on.domain, {}, [i](std::span<std::uint64_t> v) { std::fill(v.begin(), v.end(), i); }, write(objects.back()));
  }
  std::vector<hetero_task> tasks;
  for (std::uint64_t id = 0; id < static_cast<std::uint64_t>(num_tasks); ++id) {
    const std::size_t a = pick(num_objects), b = pick(num_objects);
    std::size_t c = pick(num_objects);
    while (c == a || c == b) c = pick(num_objects);
    if (pick(5) == 0) {
      add_to(on, m, objects, expected, a, c, id, pick(3) == 0, static_cast<int>(pick(3)));
      continue;
    }
    const bool overwrites = pick(4) == 0;
    mix(id, expected[a], expected[b], expected[c], overwrites);
    const bool on_host = m.devices == 0 || pick(3) == 0;
    task_options o{.priority = static_cast<int>(pick(3))};
    std::vector<hetero_task> after;
    if (!tasks.empty() && pick(8) == 0) after.push_back(tasks[pick(static_cast<int>(tasks.size()))]);
    o.after = after;
    using in = std::span<const std::uint64_t>;
    using out = std::span<std::uint64_t>;
    auto here = [id, overwrites](in x, in y, out z) { mix(id, x, y, z, overwrites); };
    auto there = [id, overwrites](stream& s, in x, in y, out z) {
      s.call("mix", [=] { mix(id, x, y, z, overwrites); });
    };
    const auto &x = objects[a], &y = objects[b], &z = objects[c];
    if (on_host) {
      tasks.push_back(overwrites ? submit(*on.domain, o, here, x, y, write(z)) : submit(*on.domain, o, here, x, y, z));
    } else {
      tasks.push_back(overwrites ? submit(*on.domain, o, there, x, y, write(z))
                                 : submit(*on.domain, o, there, x, y, z));
    }
    if (pick(64) == 0) on.pe.run();
    if (pick(200) == 0) objects[pick(num_objects)].evict();
  }
  std::vector<std::vector<std::uint64_t>> found(objects.size());
  for (std::size_t i = 0; i < objects.size(); ++i) {
    submit(
        *on.domain, {}, [&found, i](std::span<const std::uint64_t> v) { found[i].assign(v.begin(), v.end()); },
        objects[i]);
  }
  on.pe.run();
  ASSERT_EQ(on.domain->num_outstanding(), 0);
  for (std::size_t i = 0; i < objects.size(); ++i)
    ASSERT_EQ(found[i], expected[i]) << "object " << i << ", seed " << seed;
  for (std::size_t i = 1; i < objects.size(); i += 3) ASSERT_EQ(own[i], expected[i]) << "object " << i;
  for (const auto& p : on.domain->places()) {
    if (!p->is_host()) {
      ASSERT_LE(p->used(), p->capacity());
    }
  }
  objects.clear();
  EXPECT_EQ(on.memory.used().in_use, 0);
}

TEST_P(random_graph, equals_sequential_execution) {
  for (unsigned seed = 1; seed <= 8; ++seed) run_graph(GetParam(), seed, 10'000, 12);
}

TEST_P(random_graph, of_few_objects_equals_sequential_execution) {
  for (unsigned seed = 1; seed <= 200; ++seed) run_graph(GetParam(), seed, 40, 4);
}

INSTANTIATE_TEST_SUITE_P(machines, random_graph,
                         testing::Values(machine{"host", 0, 0, "locality", 64},
                                         machine{"one_device", 1, 1000, "locality", 64},
                                         machine{"one_small_device", 1, 4, "locality", 64},
                                         machine{"two_devices", 2, 1000, "locality", 4},
                                         machine{"two_small_devices", 2, 3, "locality", 64},
                                         machine{"three_devices_in_turn", 3, 5, "round_robin", 2},
                                         machine{"two_devices_learning", 2, 6, "shortest_finish", 64},
                                         machine{"two_devices_with_large_copies", 2, 1000, "locality", 64, true},
                                         machine{"three_with_large_copies", 3, 1000, "shortest_finish", 64, true},
                                         machine{"small_with_large_copies", 2, 4, "shortest_finish", 8, true}),
                         [](const auto& i) { return std::string(i.param.name); });

}  // namespace

}  // namespace random_graph_test
