#include "imbrex/hetero/tasks/task_stealing.h"

#include <new>

#include "imbrex/base/memory/slab.h"
#include "imbrex/hetero/tasks/hetero_domain.h"
#include "imbrex/hetero/tasks/task_journal.h"

namespace imbrex {

namespace {

/// A task comes home.
struct ended_note : work {
  task_node* task = nullptr;
  std::unique_ptr<task_journal> deeds;  // null: it has done nothing with objects and tasks
};

/// When the job ends before, what the task has submitted is dropped with all that has not run.
void come_home(work* w, work_action action) {
  auto* note = static_cast<ended_note*>(w);
  task_node& t = *note->task;
  const std::unique_ptr<task_journal> deeds = std::move(note->deeds);
  note->~ended_note();
  slab::free(note);
  if (action == work_action::run || deeds != nullptr) t.domain->ended_elsewhere(t, deeds.get());
}

bool run_away_from_home(const host_tasks::taken& part, task_journal& deeds) {
  const task_journal::scope here(deeds);
  return hetero_domain::run_anywhere(part);
}

}  // namespace

std::size_t task_stealing::place_of(const executor& pe) const {
  std::size_t i = 0;
  while (pes_[i] != &pe) ++i;
  return i;
}

bool task_stealing::run_one(std::size_t i) {
  for (std::size_t n = 1; n < offered_.size(); ++n) {
    host_tasks* const of = offered_[(i + n) % offered_.size()].load(std::memory_order_acquire);
    const host_tasks::taken part = of != nullptr ? of->take() : host_tasks::taken{};
    if (part.task == nullptr) continue;
    executor& home = part.task->domain->pe();
    task_journal deeds(*part.task->domain);
    if (!run_away_from_home(part, deeds)) return true;
    auto* note = new (slab::allocate(sizeof(ended_note))) ended_note;
    note->task = part.task;
    if (!deeds.empty()) note->deeds = std::make_unique<task_journal>(std::move(deeds));
    note->act = &come_home;
    note->set_priority(priorities::communication);
    home.post(note);
    return true;
  }
  return false;
}

}  // namespace imbrex
