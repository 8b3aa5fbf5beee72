#include "imbrex/hetero/graph/task_trace.h"

#include <algorithm>
#include <utility>

#include "imbrex/hetero/coherence/place.h"
#include "imbrex/hetero/coherence/slices.h"

namespace imbrex {

namespace {

/// Who has written what `a` reads or overwrites, also where that is over.
template <class F>
void for_each_writer_before(const task_access& a, F f) {
  hetero_data& d = *a.data;
  if (d.written_by != 0) f(d.written_by);
  if (d.family == nullptr) return;
  d.family->for_each_overlapping(d, [&](const hetero_data& e) {
    if (e.written_by > d.written_by || (writes(a.mode) && e.written_by != 0)) f(e.written_by);
  });
}

}  // namespace

task_trace::open_task* task_trace::find(const task_node& t) {
  const auto at = open_.find(t.age);
  return at != open_.end() ? &at->second : nullptr;
}

void task_trace::submitted(const task_node& t) {
  trace_task& task = open_[t.age].task;
  task.number = t.age;
  task.name = t.wishes.name;
  task.submitted = pe_.now_ns();
  for (std::size_t i = 0; i < t.num_accesses; ++i) {
    for_each_writer_before(t.accesses[i], [&](std::uint64_t number) { task.after.push_back(number); });
  }
}

void task_trace::follows(const task_node& t, const task_node& earlier) {
  if (open_task* const it = find(t)) it->task.after.push_back(earlier.age);
}

void task_trace::lets_go(const task_node& t) {
  for (const task_edge* e = t.successors; e != nullptr; e = e->next) {
    if (open_task* const later = find(*e->to)) later->task.after.push_back(t.age);
  }
}

void task_trace::ready(const task_node& freed, const task_node* t) {
  open_task* const later = find(freed);
  if (later == nullptr) return;
  if (later->task.ready == 0) later->task.ready = pe_.now_ns();
  if (t == nullptr) return;
  if (const open_task* const earlier = find(*t); earlier != nullptr && earlier->ran_here)
    later->arrow = track_.new_task_flow();
}

void task_trace::runs_here(const task_node& t) {
  open_task* const it = find(t);
  if (it == nullptr) return;
  it->ran_here = true;
  if (it->arrow != 0) track_.task_flow_in(std::exchange(it->arrow, 0));
}

void task_trace::enqueued(const task_node& t) {
  if (open_task* const it = find(t)) it->task.began = pe_.now_ns();
}

void task_trace::over(const task_node& t) {
  const auto at = open_.find(t.age);
  if (at == open_.end()) return;
  trace_task task = std::move(at->second.task);
  open_.erase(at);
  if (task.began == 0) task.began = t.ran().began_ns;
  task.ended = pe_.now_ns();
  if (t.ran().ended_ns != 0) task.ended = t.ran().ended_ns;
  if (t.at != nullptr) task.place = recorder_.intern(t.at->name());
  task.failed = t.state == task_state::failed;
  std::ranges::sort(task.after);
  const auto same = std::ranges::unique(task.after);
  task.after.erase(same.begin(), same.end());
  track_.task(std::move(task));
}

}  // namespace imbrex
