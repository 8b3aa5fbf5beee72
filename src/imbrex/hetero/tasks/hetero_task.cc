#include "imbrex/hetero/tasks/hetero_task.h"

#include <new>

#include <fmt/format.h>

#include "imbrex/base/error.h"
#include "imbrex/hetero/tasks/hetero_domain.h"
#include "imbrex/hetero/tasks/task_waits.h"

namespace imbrex {

std::string hetero_task::where() const { return node_ == nullptr || node_->at == nullptr ? "" : node_->at->name(); }

bool hetero_task::cancel() const {
  if (node_ == nullptr) return false;
  if (executor::current() != &node_->domain->pe()) {
    throw usage_error(
        fmt::format("task '{}' is cancelled by another PE than its own, or by a task", node_->wishes.name));
  }
  return node_->domain->cancel(*node_);
}

void task_node::rethrow() {
  domain->failures().see(failure());
  std::rethrow_exception(failure());
}

task_extras& task_node::make_extras() {
  extras_ = new (slab::allocate(sizeof(task_extras))) task_extras;
  return *extras_;
}

void task_node::free_extras() {
  extras_->~task_extras();
  slab::free(extras_);
}

void add_waiting(task_node& t, waiter& w) {
  w.next = t.awaiting;
  t.awaiting = &w;
}

void stop_waiting(task_node& t, waiter& w) {
  waiter* before = nullptr;
  for (waiter* at = t.awaiting; at != nullptr; before = at, at = static_cast<waiter*>(at->next)) {
    if (at != &w) continue;
    if (before != nullptr) {
      before->next = w.next;
    } else {
      t.awaiting = static_cast<waiter*>(w.next);
    }
    return;
  }
  w.home->withdraw(&w);
}

void wake_waiting(task_node& t) {
  waiter* w = std::exchange(t.awaiting, nullptr);
  while (w != nullptr) {
    auto* const next = static_cast<waiter*>(w->next);
    w->wake();
    w = next;
  }
}

hetero_task::awaiter::~awaiter() {
  if (node_ == nullptr) return;
  if (handle) stop_waiting(*node_, *this);
  node_->release();
}

void hetero_task::awaiter::await_suspend(std::coroutine_handle<> h) {
  if (node_->is_recorded()) {
    throw usage_error(std::string("task '") + node_->wishes.name + "' is part of a window: await what a replay gives");
  }
  suspend(h, [](const waiter* w) {
    const task_node& t = *static_cast<const awaiter*>(w)->node_;
    return fmt::format("task '{}', which is {}", t.wishes.name, how_far(t));
  });
  add_waiting(*node_, *this);
}

void hetero_task::awaiter::await_resume() {
  handle = nullptr;
  if (node_ != nullptr && node_->state == task_state::failed) node_->rethrow();
}

}  // namespace imbrex
