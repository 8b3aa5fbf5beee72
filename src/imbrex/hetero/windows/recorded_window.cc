#include "imbrex/hetero/windows/recorded_window.h"

#include <algorithm>
#include <numeric>
#include <tuple>
#include <unordered_map>

#include "imbrex/hetero/coherence/place.h"
#include "imbrex/hetero/coherence/slices.h"
#include "imbrex/hetero/tasks/eligibility.h"
#include "imbrex/hetero/tasks/hetero_domain.h"

namespace imbrex {

recorded_window::~recorded_window() {
  on_each.clear();
  on_several = nullptr;
  for (task_node* t : tasks) {
    for (const task_access& a : t->uses()) domain->copies().release(a.data);
    t->num_accesses = 0;
    t->release();
  }
}

void recorded_window::keep(task_node& t, std::span<const hetero_task> after) {
  for (const task_access& a : t.uses()) ++a.data->references;
  ++t.references;
  t.age = tasks.size() + 1;
  t.ends = task_ending::with_window;
  tasks.push_back(&t);
  may_run_on.push_back(0);
  for (std::size_t i = 0; i < std::min<std::size_t>(domain->places().size(), 64); ++i) {
    if (wanted(t, *domain->places()[i])) may_run_on.back() |= std::uint64_t{1} << i;
  }
  for (const hetero_task& earlier : after) orders.emplace_back(t.age, earlier.node()->age);
}

bool recorded_window::has(const task_node& t) const {
  return t.is_recorded() && t.age <= tasks.size() && tasks[t.age - 1] == &t;
}

bool recorded_window::writes_to(const hetero_data& d) const {
  const auto writes_it = [&](const task_access& a) { return a.data == &d && writes(a.mode); };
  return std::ranges::any_of(tasks, [&](task_node* t) { return std::ranges::any_of(t->uses(), writes_it); });
}

void recorded_window::sum_up() { choose_kind(sum_up_uses()); }

/// What is written first needs nothing of before; what is read only lets others read meanwhile. Whether the window can
/// be one task.
bool recorded_window::sum_up_uses() {
  std::unordered_map<hetero_data*, std::size_t> known;
  for (task_node* t : tasks) {
    // The task's own reads come before its writes.
    for (const bool writing : {false, true}) {
      for (const task_access& a : t->uses()) {
        if ((a.mode == access_mode::write) != writing) continue;
        const auto [at, is_new] = known.try_emplace(a.data, uses.size());
        if (is_new) {
          uses.push_back({a.data, a.mode});
        } else if (uses[at->second].mode == access_mode::read && writes(a.mode)) {
          uses[at->second].mode = access_mode::read_write;
        }
      }
    }
  }
  bool as_one = uses.size() <= UINT16_MAX;
  for (const use& u : uses) {
    if (u.data->family == nullptr) continue;
    u.data->family->for_each_overlapping(*u.data, [&](hetero_data& e) { as_one &= !known.contains(&e); });
  }
  return as_one;
}

void recorded_window::choose_kind(bool as_one) {
  constexpr std::uint64_t host = 1;
  std::uint64_t anywhere = ~std::uint64_t{0}, only = 0;
  for (const std::uint64_t m : may_run_on) anywhere &= m, only |= m;
  replays = kind::task_by_task;
  if (!as_one) return;
  if (only == host || tasks.empty()) {
    replays = kind::in_order;
    return;
  }
  const auto& places = domain->places();
  for (std::size_t i = 1; i < std::min<std::size_t>(places.size(), 64); ++i) {
    if ((anywhere >> i & 1) != 0 && bytes() <= places[i]->capacity()) devices.push_back(places[i].get());
  }
  if (devices.size() == 1 || (!devices.empty() && connects_all())) replays = kind::on_device;
  for (const device_kind k : {device_kind::cuda, device_kind::opencl, device_kind::host}) {
    std::vector<place*> several;
    for (std::size_t i = 1; i < std::min<std::size_t>(places.size(), 64); ++i) {
      if (places[i]->kind() == k && (only >> i & 1) != 0) several.push_back(places[i].get());
    }
    const bool all_reach = std::ranges::all_of(several, [&](const place* p) {
      return std::ranges::all_of(several,
                                 [&](const place* q) { return p == q || domain->copies().reads_from(*p, *q); });
    });
    if (several.size() > 1 && all_reach && on_several == nullptr) plan_over(several);
  }
}

namespace {
bool all_can_run(const window_jobs& w) {
  return std::ranges::all_of(w.jobs, [](const window_jobs::job& j) { return j.may_run_on != 0; });
}
}  // namespace

/// Where that is worth it; and where there is no other way, as tasks have been given devices.
void recorded_window::plan_over(const std::vector<place*>& several) {
  constexpr double much_sooner = 0.8;
  const window_jobs on_all = jobs_on(several);
  if (!all_can_run(on_all)) return;
  device_plan plan = plan_over_devices(on_all);
  if (!devices.empty()) {
    for (std::size_t n = several.size() - 1; n > 1; --n) {
      const window_jobs w = jobs_on({several.begin(), several.begin() + static_cast<std::ptrdiff_t>(n)});
      if (!all_can_run(w)) break;
      device_plan fewer = plan_over_devices(w);
      if (fewer.ns < plan.ns) plan = std::move(fewer);
    }
    const std::vector<std::uint8_t> on_one(tasks.size(), 0);
    if (plan.ns > much_sooner * imbrex::expected_ns(on_all, on_one)) return;
  }
  // Only those that have something to do.
  std::vector<place*> used;
  std::vector<int> number_of(several.size(), -1);
  for (std::uint8_t& d : plan.device_of) {
    if (number_of[d] < 0) {
      number_of[d] = static_cast<int>(used.size());
      used.push_back(several[d]);
    }
    d = static_cast<std::uint8_t>(number_of[d]);
  }
  auto window = std::make_unique<device_window>(*this, used, plan.device_of);
  if (!window->fits() || window->uses().size() > UINT16_MAX) return;
  on_several = std::move(window);
  replays = kind::on_devices;
}

/// From one device to another takes so long in a graph, which is slower the more devices it is of (measured on H200s:
/// docs/design/0028-windows-over-devices.md).
window_jobs recorded_window::jobs_on(const std::vector<place*>& several) const {
  const double latency_ns = 3'000 + 5'000 * static_cast<double>(several.size());
  window_jobs w;
  w.num_devices = static_cast<int>(several.size());
  const double bytes_per_ns = several.front()->link_from_peers().bytes_per_ns();
  std::unordered_map<const hetero_data*, std::uint32_t> number_of;
  for (const use& u : uses) {
    number_of.emplace(u.data, static_cast<std::uint32_t>(w.ns_to_move.size()));
    w.ns_to_move.push_back(latency_ns + static_cast<double>(u.data->bytes) / bytes_per_ns);
  }
  for (std::size_t i = 0; i < tasks.size(); ++i) {
    window_jobs::job& j = w.jobs.emplace_back();
    j.ns = expected_ns(*tasks[i], several);
    for (std::size_t d = 0; d < several.size(); ++d) {
      if ((may_run_on[i] >> several[d]->number() & 1) != 0) j.may_run_on |= std::uint64_t{1} << d;
    }
    for (const task_access& a : tasks[i]->uses()) j.uses.push_back({number_of.at(a.data), a.mode});
  }
  for (const auto& [later, earlier] : orders)
    w.jobs[later - 1].after.push_back(static_cast<std::uint32_t>(earlier - 1));
  return w;
}

/// What such tasks took before; else as long as it takes to start a kernel and to read its objects.
double recorded_window::expected_ns(task_node& t, const std::vector<place*>& several) const {
  constexpr double start_ns = 2'500, bytes_per_ns = 3'300;
  double known = -1;
  for (const place* p : several) known = std::max(known, domain->expected_ns(t, *p));
  if (known >= 0) return known;
  double bytes = 0;
  for (const task_access& a : t.uses()) bytes += static_cast<double>(a.data->bytes);
  return start_ns + bytes / bytes_per_ns;
}

/// Whether each task has to do with each other one, by objects that some task of the window writes, or by `after`.
bool recorded_window::connects_all() const {
  std::vector<std::size_t> parts(tasks.size());  // a task of the same part; the last of these is its own
  std::iota(parts.begin(), parts.end(), std::size_t{0});
  const auto part_of = [&](std::size_t i) {
    while (parts[i] != i) i = parts[i] = parts[parts[i]];
    return i;
  };
  std::unordered_map<const hetero_data*, std::size_t> user_of;
  for (const use& u : uses) {
    if (writes(u.mode)) user_of.emplace(u.data, tasks.size());
  }
  std::size_t num_parts = tasks.size();
  const auto join = [&](std::size_t a, std::size_t b) {
    if (part_of(a) == part_of(b)) return;
    parts[part_of(a)] = part_of(b);
    --num_parts;
  };
  for (std::size_t i = 0; i < tasks.size(); ++i) {
    for (const task_access& a : tasks[i]->uses()) {
      const auto at = user_of.find(a.data);
      if (at == user_of.end()) continue;
      if (at->second == tasks.size()) {
        at->second = i;
      } else {
        join(i, at->second);
      }
    }
  }
  for (const auto& [later, earlier] : orders) join(later - 1, earlier - 1);
  return num_parts == 1;
}

std::uint64_t recorded_window::bytes() const {
  std::uint64_t sum = 0;
  for (const use& u : uses) sum += u.data->bytes;
  return sum;
}

device_window& recorded_window::on_one() {
  place* best = nullptr;
  std::tuple<std::uint64_t, std::uint64_t, bool> least;
  for (place* p : devices) {
    std::uint64_t missing = 0;
    for (const use& u : uses) {
      if (reads(u.mode) && state_of(*u.data, p->number()) == coherence::invalid) missing += u.data->bytes;
    }
    const std::tuple costs(missing, p->num_tasks(), last == nullptr || p != &last->first());
    if (best != nullptr && costs >= least) continue;
    best = p;
    least = costs;
  }
  std::unique_ptr<device_window>& there = on_each[best];
  if (there == nullptr) {
    const std::vector<std::uint8_t> all(tasks.size(), 0);
    there = std::make_unique<device_window>(*this, std::vector<place*>{best}, all);
  }
  return *there;
}

}  // namespace imbrex
