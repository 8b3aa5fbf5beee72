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

void add_waiting_afar(task_node& t, waiter& w) {
  w.next = t.extras().awaiting_afar;
  t.extras().awaiting_afar = &w;
}

namespace {
void wake_all(waiter* w) {
  while (w != nullptr) {
    auto* const next = static_cast<waiter*>(w->next);
    w->wake();
    w = next;
  }
}
}  // namespace

void wake_waiting(task_node& t) {
  wake_all(std::exchange(t.awaiting, nullptr));
  if (t.has_extras()) [[unlikely]]
    wake_all(std::exchange(t.extras().awaiting_afar, nullptr));
}

void hetero_task::refuse_far() const {
  throw usage_error(
      fmt::format("task '{}' was asked how far it is by another PE than its own: await it", node_->wishes.name));
}

hetero_task::awaiter::~awaiter() {
  leave();
  if (node_ != nullptr) give_up(*node_);
}

void hetero_task::awaiter::await_suspend(std::coroutine_handle<> h) {
  if (task_journal::is_near(node_->domain) && node_->is_recorded()) {
    throw usage_error(std::string("task '") + node_->wishes.name + "' is part of a window: await what a replay gives");
  }
  const auto is_there = [](const task_node& t) { return t.over(); };
  wait_for(*node_, h, is_there, [](const waiter* w) {
    const task_node& t = *static_cast<const awaiter*>(w)->node_;
    return fmt::format("task '{}', which is {}", t.wishes.name, how_far(t));
  });
}

void hetero_task::awaiter::await_resume() {
  resumed();
  if (node_ != nullptr && node_->state == task_state::failed) throw_failure(*node_);
}

}  // namespace imbrex
