#include "imbrex/hetero/tasks/eligibility.h"

#include <algorithm>

#include <fmt/format.h>

#include "imbrex/base/error.h"
#include "imbrex/hetero/tasks/hetero_domain.h"

namespace imbrex {

namespace {
std::uint64_t bytes_of(const task_node& t) {
  std::uint64_t bytes = 0;
  for (int i = 0; i < t.num_accesses; ++i) {
    bool counted = false;
    for (int j = 0; j < i; ++j) counted |= t.accesses[j].data == t.accesses[i].data;
    if (!counted) bytes += t.accesses[i].data->bytes;
  }
  return bytes;
}
}  // namespace

std::string text(const task_node& t) { return fmt::format("task '{}', the {}. to be submitted", t.wishes.name, t.age); }

bool wanted(const task_node& t, const place& p) {
  const unsigned there = p.is_host() ? task_node::on_the_host : task_node::on_devices(p.kind());
  if ((t.runs_on & there) == 0) return false;
  if (t.wishes.any) return true;
  if (t.wishes.kind != p.kind()) return false;
  return t.wishes.number < 0 || t.wishes.number == (p.is_host() ? 0 : p.on().number());  // the host is one
}

namespace {

/// Why no place is wanted by the task, and what to do.
std::string why_nowhere(const task_node& t, const std::vector<std::unique_ptr<place>>& places) {
  if (t.wishes.any)
    return "it has a function for devices only, and this job has none: --imbrex-device, or give it one for the host";
  const char* const kind = to_string(t.wishes.kind);
  const auto num = std::ranges::count_if(places, [&](const auto& p) { return p->kind() == t.wishes.kind; });
  if (num == 0)
    return fmt::format("this process has no device of {}: start the job with --imbrex-device={}, where there is one",
                       kind, kind);
  if (t.wishes.number >= num)
    return fmt::format("it asks for number {} of {}, of which this process has {}, from 0", t.wishes.number, kind, num);
  return fmt::format("it has no function for {}, where it is to run: give it one, or leave .on out", kind);
}

}  // namespace

void hetero_domain::check_places(task_node& t) const {
  if (t.wishes.any && t.wishes.number >= 0) {
    throw usage_error(fmt::format("{}: number {} of which kind of device? say .on, too", text(t), t.wishes.number));
  }
  if (places().size() == 1 && wanted(t, *places()[0])) return;
  if (t.bytes() == 0) t.extras().bytes = bytes_of(t);
  std::uint64_t most = 0;
  bool anywhere = false;
  for (const auto& p : places()) {
    if (eligible(t, *p)) return;
    if (!wanted(t, *p)) continue;
    anywhere = true;
    most = std::max(most, p->capacity());
  }
  if (anywhere) {
    throw out_of_memory(
        fmt::format("{}: its objects take {} bytes at once, but no device it may run on has more than {} "
                    "for them: use smaller objects",
                    text(t), t.bytes(), most));
  }
  throw device_error(fmt::format("{}: there is nothing that it could run on: {}", text(t), why_nowhere(t, places())));
}

namespace {
bool could_run(const task_node& t, const place& p) {
  return wanted(t, p) && (p.is_host() || t.bytes() <= p.capacity());
}
}  // namespace

bool hetero_domain::eligible(const task_node& t, const place& p) const {
  if (const task_bundle::state* const b = t.bundle(); b != nullptr) [[unlikely]] {
    if (b->at != nullptr && b->at != &p && could_run(t, *b->at)) return false;
  }
  return could_run(t, p);
}

void hetero_domain::join_bundle(const task_node& t) {
  task_bundle::state& b = *t.bundle();
  if (b.domain != nullptr && b.domain != this) {
    throw usage_error(fmt::format("{}: its bundle has tasks of another PE: make one for each", text(t)));
  }
  b.domain = this;
}

missing_data hetero_domain::missing(const task_node& t, const place& p) const {
  missing_data all;
  for (int i = 0; i < t.num_accesses; ++i) {
    const task_access& a = t.accesses[i];
    if (!reads(a.mode)) continue;
    missing_data of = copies_.missing(*a.data, p);
    if (writes(a.mode)) of.moved = of.from_devices;
    all += of;
  }
  return all;
}

// What waits to be run cannot be overtaken any more by what is more urgent.
bool hetero_domain::has_room(const place& p) const {
  if (p.is_host()) return runnable_.size() < options_.host_tasks_at_hand;
  return p.num_tasks() < static_cast<std::uint64_t>(options_.tasks_under_way) &&
         short_of_memory_[static_cast<std::size_t>(p.number())].empty();
}

// ------------------------------------------------------------------------------------------------ without a policy

place& hetero_domain::choose_place(const task_node& t) const {
  const bool sliced = t.accesses[0].data->family != nullptr;  // its newest bytes may be at several places
  if (places().size() == 1 || sliced || t.accesses[0].data->bytes == 0) return *places()[0];
  return t.placed == placed_by::its_data ? place_of_data(t) : place_of_next_use(t);
}

/// A device before the host: if the data are at both, whoever uses them was last there.
place& hetero_domain::place_of_data(const task_node& t) const {
  hetero_data& d = *t.accesses[0].data;
  for (const auto& p : places()) {
    if (!p->is_host() && d.at(p->number()).state != coherence::invalid && eligible(t, *p)) return *p;
  }
  return *places()[0];
}

/// Of the devices that the next task could run on, the one that has most of its data.
place& hetero_domain::place_of_next_use(const task_node& t) const {
  const task_access* const use = t.accesses[0].after;
  const task_node* const next = use == nullptr || use->by().placed != placed_by::policy ? nullptr : &use->by();
  place* best = nullptr;
  std::uint64_t least = UINT64_MAX;
  for (const auto& p : places()) {
    if (p->is_host() || !eligible(t, *p)) continue;
    if (next == nullptr ? t.placed != placed_by::next_use_on_device : !eligible(*next, *p)) continue;
    const std::uint64_t missing = next == nullptr ? p->num_tasks() : missing_bytes(*next, *p);
    if (missing < least) best = p.get();
    least = std::min(least, missing);
  }
  return best != nullptr ? *best : *places()[0];
}

}  // namespace imbrex
