#include <random>

#include "imbrex/base/error.h"
#include "unit/hetero/hetero_fixture.h"

namespace sliced_graph_test {

using namespace imbrex;
using namespace imbrex_test;

namespace {

constexpr std::size_t elements = 24;
using in = std::span<const std::uint64_t>;
using out = std::span<std::uint64_t>;

/// Shows who came before whom, for ranges of any size.
void mix(std::uint64_t id, in a, out c, bool overwrites) {
  for (std::size_t i = 0; i < c.size(); ++i) {
    const std::uint64_t before = overwrites ? 0 : c[i];
    c[i] = (before ^ (a[i % a.size()] * 0x9e3779b97f4a7c15)) + (a[(i + 1) % a.size()] >> 7) + id;
  }
}

struct machine {
  const char* name;
  int devices;
  std::uint64_t elements_that_fit;
  const char* policy;
  int under_way;
};

void PrintTo(const machine& m, std::ostream* to) { *to << m.name; }

struct sliced_graph : testing::TestWithParam<machine> {};

struct part {
  std::size_t object, offset, count;
};

/// Tasks on objects, on slices that stay, which overlap or do not, and on slices of any range that go at once.
void run_graph(const machine& m, unsigned seed, int num_tasks, int num_objects, bool slices_stay) {
  hetero_options options;
  options.policy = m.policy;
  options.tasks_under_way = m.under_way;
  hetero_pe on(m.devices, m.elements_that_fit * sizeof(std::uint64_t), options);
  on.pe.queue.set_schedule_seed(seed);
  std::mt19937 random(seed);
  const auto pick = [&](std::size_t n) { return static_cast<std::size_t>(random() % n); };

  const std::size_t step = seed % 2 == 0 ? 8 : 3;  // else they overlap
  std::vector<hetero_object<std::uint64_t>> objects;
  std::vector<std::vector<hetero_object<std::uint64_t>>> kept;
  std::vector<std::vector<std::uint64_t>> expected;
  for (int i = 0; i < num_objects; ++i) {
    objects.push_back(on.object<std::uint64_t>(elements));
    expected.emplace_back(elements, i);
    auto fill = [i](out v) { std::fill(v.begin(), v.end(), i); };
    if (pick(2) == 0) {
      submit(*on.domain, {}, fill, write(objects.back()));
    } else {
      for (std::size_t at = 0; at < elements; at += 8) submit(*on.domain, {}, fill, write(objects.back().slice(at, 8)));
    }
    kept.emplace_back();
    for (std::size_t at = 0; slices_stay && at + 8 <= elements; at += step) {
      kept.back().push_back(objects.back().slice(at, 8));
    }
  }
  const auto pick_part = [&]() -> part {
    const std::size_t object = pick(objects.size());
    if (pick(4) == 0) return {object, 0, elements};
    if (slices_stay) return {object, step * pick((elements - 8) / step + 1), 8};
    const std::size_t offset = pick(elements - 1);
    return {object, offset, 1 + pick(elements - offset)};
  };
  const auto get = [&](const part& p) { return objects[p.object].slice(p.offset, p.count); };
  for (std::uint64_t id = 0; id < static_cast<std::uint64_t>(num_tasks); ++id) {
    const part a = pick_part();
    part c = pick_part();
    while (c.object == a.object && c.offset < a.offset + a.count && a.offset < c.offset + c.count) c = pick_part();
    const bool overwrites = pick(4) == 0;
    mix(id, in(expected[a.object]).subspan(a.offset, a.count), out(expected[c.object]).subspan(c.offset, c.count),
        overwrites);
    task_options o{.priority = static_cast<int>(pick(3))};
    auto here = [id, overwrites](in x, out z) { mix(id, x, z, overwrites); };
    auto there = [id, overwrites](stream& s, in x, out z) { s.call("mix", [=] { mix(id, x, z, overwrites); }); };
    const bool on_host = m.devices == 0 || pick(3) == 0;
    const auto x = get(a), z = get(c);
    if (on_host) {
      overwrites ? submit(*on.domain, o, here, x, write(z)) : submit(*on.domain, o, here, x, z);
    } else {
      overwrites ? submit(*on.domain, o, there, x, write(z)) : submit(*on.domain, o, there, x, z);
    }
    if (pick(40) == 0) on.pe.run();
    if (pick(100) == 0) get(pick_part()).evict();
    if (pick(200) == 0) on.pe.run(), objects[pick(objects.size())].evict();
  }
  std::vector<std::vector<std::uint64_t>> found(objects.size());
  for (std::size_t i = 0; i < objects.size(); ++i) {
    submit(*on.domain, {}, [&found, i](in v) { found[i].assign(v.begin(), v.end()); }, objects[i]);
  }
  on.pe.run();
  ASSERT_EQ(on.domain->num_outstanding(), 0);
  for (std::size_t i = 0; i < objects.size(); ++i) {
    ASSERT_EQ(found[i], expected[i]) << "object " << i << ", seed " << seed;
  }
  for (const auto& p : on.domain->places()) {
    if (!p->is_host()) {
      ASSERT_LE(p->used(), p->capacity());
    }
  }
  objects.clear();
  kept.clear();
  EXPECT_EQ(on.memory.used().in_use, 0);
}

TEST_P(sliced_graph, equals_sequential_execution) {
  for (unsigned seed = 1; seed <= 4; ++seed) run_graph(GetParam(), seed, 5'000, 6, true);
}

TEST_P(sliced_graph, of_few_objects_equals_sequential_execution) {
  for (unsigned seed = 1; seed <= 300; ++seed) run_graph(GetParam(), seed, 40, 2, true);
}

TEST_P(sliced_graph, of_slices_of_any_range_equals_sequential_execution) {
  for (unsigned seed = 1; seed <= 300; ++seed) run_graph(GetParam(), seed, 60, 2, false);
}

INSTANTIATE_TEST_SUITE_P(machines, sliced_graph,
                         testing::Values(machine{"host", 0, 0, "locality", 64},
                                         machine{"one_device", 1, 10'000, "locality", 64},
                                         machine{"one_small_device", 1, 2 * elements, "locality", 64},
                                         machine{"two_devices", 2, 10'000, "locality", 4},
                                         machine{"two_small_devices", 2, 2 * elements, "locality", 64},
                                         machine{"three_devices_in_turn", 3, 3 * elements, "round_robin", 2},
                                         machine{"two_devices_learning", 2, 4 * elements, "shortest_finish", 64}),
                         [](const auto& i) { return std::string(i.param.name); });

}  // namespace

}  // namespace sliced_graph_test
