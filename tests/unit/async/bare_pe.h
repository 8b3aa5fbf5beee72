#pragma once

#include <exception>
#include <utility>

#include "imbrex/async/executor.h"
#include "imbrex/async/task.h"
#include "imbrex/base/memory/slab.h"

namespace imbrex_test {

/// The calling thread as a PE without runtime: it owns an executor and a slab, and runs what is ready.
class bare_pe {
 public:
  bare_pe() {
    memory_.bind_to_this_thread();
    imbrex::executor::set_current(&queue);
  }
  ~bare_pe() {
    imbrex::executor::set_current(nullptr);
    imbrex::slab::unbind_this_thread();
  }

  /// Runs until nothing is ready.
  int run() {
    int steps = 0;
    queue.collect();
    while (imbrex::work* w = queue.next()) {
      w->act(w, imbrex::work_action::run);
      ++steps;
      queue.collect();
    }
    return steps;
  }

  /// Runs, sleeping in between, until `done`.
  template <class Predicate>
  void run_until(Predicate done) {
    while (!done()) {
      if (run() == 0 && !done()) queue.sleep(100'000);
    }
  }

 private:
  imbrex::slab memory_;

 public:
  imbrex::executor queue;
};

/// A chain of coroutines, started on the calling PE as the runtime starts an entry method.
class started : public imbrex::activity {
 public:
  explicit started(imbrex::task<> t) : task_(std::move(t)) {
    name = "started";
    on_end = [](imbrex::activity* a) { static_cast<started*>(a)->ended_ = true; };
    task_.handle().promise().root = this;
    imbrex::executor* e = imbrex::executor::current();
    imbrex::activity* before = std::exchange(e->running, this);
    task_.handle().resume();
    e->running = before;
  }

  bool ended() const { return ended_; }
  std::exception_ptr failure() const { return task_.handle().promise().failure; }
  void destroy() { task_ = {}; }

 private:
  imbrex::task<> task_;
  bool ended_ = false;
};

}  // namespace imbrex_test
