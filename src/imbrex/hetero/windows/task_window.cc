#include "imbrex/hetero/windows/task_window.h"

#include <algorithm>
#include <new>

#include <fmt/format.h>

#include "imbrex/base/clock.h"
#include "imbrex/base/error.h"
#include "imbrex/base/memory/slab.h"
#include "imbrex/hetero/coherence/place.h"
#include "imbrex/hetero/coherence/slices.h"
#include "imbrex/hetero/windows/recorded_window.h"

namespace imbrex {

namespace {

constexpr std::uint64_t cycles_in_a_turn = 200'000;  // as of other tasks of the host

/// A node with room for its accesses behind it.
template <class Node>
Node* new_node(recorded_window& w, std::size_t num_accesses) {
  static_assert(sizeof(Node) % alignof(task_access) == 0);
  static constexpr task_type type{&Node::go, [](task_node* t) {
                                    recorded_window* const of = static_cast<Node*>(t)->window;
                                    destroy_node<Node>(t);
                                    of->release();
                                  }};
  void* const memory = slab::allocate(sizeof(Node) + num_accesses * sizeof(task_access));
  auto* n = new (memory) Node(type);
  n->window = &w;
  ++w.references;
  n->num_accesses = static_cast<std::uint16_t>(num_accesses);
  n->accesses = reinterpret_cast<task_access*>(n + 1);
  for (std::size_t i = 0; i < num_accesses; ++i) (new (n->accesses + i) task_access)->to = n;
  return n;
}

/// A node for a replay as a whole, with these uses.
template <class Node, class Uses>
Node* new_whole(recorded_window& w, const Uses& uses) {
  auto* n = new_node<Node>(w, uses.size());
  for (std::size_t i = 0; i < uses.size(); ++i) {
    n->accesses[i].data = uses[i].data;
    n->accesses[i].mode = uses[i].mode;
  }
  n->wishes.name = "window";
  return n;
}

/// What a task of the window threw becomes the failure of the whole.
void fail_with(task_node& whole, task_node& t) {
  whole.extras().failure = std::exchange(t.extras().failure, nullptr);
  whole.fault = task_fault::own;
  t.fault = task_fault::none;
}

/// A whole window on the host, as one task.
struct window_run final : task_node {
  using task_node::task_node;
  recorded_window* window = nullptr;
  std::size_t position = 0;
  bool posted = false;
  struct turn : work {
    window_run* of = nullptr;
  } next_turn;

  ~window_run() {
    if (posted) domain->pe().withdraw(&next_turn);
  }

  static hetero_task submit(recorded_window& w) {
    auto* n = new_whole<window_run>(w, w.uses);
    n->runs_on = on_the_host;
    n->ends = task_ending::told;  // and so on this PE
    n->next_turn.of = n;
    n->next_turn.set_priority(priorities::normal);
    n->next_turn.act = [](work* item, work_action action) {
      window_run& self = *static_cast<turn*>(item)->of;
      self.posted = false;
      if (action != work_action::run) return;
      self.go_on();
      if (!self.posted) self.domain->close(self);
    };
    hetero_task handle(n);
    w.domain->submit(n);
    return handle;
  }

  static void go(task_node* t, const task_call&) { static_cast<window_run*>(t)->go_on(); }
  /// Some of the tasks; messages have their turn in between.
  void go_on() {
    const std::uint64_t began = domain->cycles();
    const std::vector<task_node*>& tasks = window->tasks;
    while (position < tasks.size()) {
      task_node& t = *tasks[position++];
      t.at = at;
      domain->call(t, nullptr);
      if (t.threw()) [[unlikely]] {
        fail_with(*this, t);
        break;
      }
      if (position % 16 == 0 && position < tasks.size() && domain->cycles() - began > cycles_in_a_turn) {
        posted = true;
        domain->pe().post(&next_turn);
        return;
      }
    }
    ends = task_ending::with_run;
  }
};

/// A whole window on a device, or on several, as one task: of the first one of these.
struct window_on_device final : task_node {
  using task_node::task_node;
  recorded_window* window = nullptr;
  device_window* there = nullptr;

  static hetero_task submit(recorded_window& w, device_window& there) {
    auto* n = new_whole<window_on_device>(w, there.uses());
    const place& first = there.first();
    std::uint64_t& bytes = n->extras().bytes;
    for (std::size_t i = 0; i < there.uses().size(); ++i) {
      if (there.places()[i] == &first) bytes += there.uses()[i].data->bytes;
    }
    if (there.num_devices() > 1) {
      n->is_spread = true;
      n->extras().places = there.places();
    }
    n->there = &there;
    n->wishes.any = false;
    n->wishes.kind = first.kind();
    n->wishes.number = static_cast<std::int16_t>(first.on().number());
    n->runs_on = on_devices(first.kind());
    hetero_task handle(n);
    w.domain->submit(n);
    return handle;
  }
  static void go(task_node* t, const task_call& c) {
    auto& self = *static_cast<window_on_device*>(t);
    self.window->last = self.there;
    if (task_node* const failed = self.there->run(*c.order); failed != nullptr) fail_with(*t, *failed);
  }
};

/// One task of a window, which runs the recorded one's function.
struct replayed_task final : task_node {
  using task_node::task_node;
  recorded_window* window = nullptr;
  task_node* recorded = nullptr;

  static replayed_task* make(recorded_window& w, task_node& t) {
    auto* n = new_node<replayed_task>(w, t.num_accesses);
    for (std::size_t i = 0; i < t.num_accesses; ++i) {
      n->accesses[i].data = t.accesses[i].data;
      n->accesses[i].mode = t.accesses[i].mode;
    }
    n->recorded = &t;
    n->wishes = t.wishes;
    n->runs_on = t.runs_on;
    return n;
  }
  static void go(task_node* self, const task_call& c) {
    task_node* const of = static_cast<replayed_task*>(self)->recorded;
    of->type->run(of, c);
  }
};

/// What is over when all tasks of a replay are.
struct window_end final : task_node {
  using task_node::task_node;
  recorded_window* window = nullptr;

  static void go(task_node*, const task_call&) {}
};

hetero_task submit_each(recorded_window& w) {
  hetero_domain& domain = *w.domain;
  std::vector<hetero_task> all;
  all.reserve(w.tasks.size());
  auto dependency = w.orders.begin();
  std::vector<hetero_task> after;
  for (task_node* t : w.tasks) {
    replayed_task* const n = replayed_task::make(w, *t);
    all.emplace_back(n);
    after.clear();
    for (; dependency != w.orders.end() && dependency->first == t->age; ++dependency) {
      after.push_back(all[dependency->second - 1]);
    }
    domain.submit(n, after);
  }
  auto* end = new_node<window_end>(w, 0);
  end->wishes.name = "window";
  end->runs_on = task_node::on_the_host;
  hetero_task handle(end);
  domain.submit(end, all);
  return handle;
}

}  // namespace

window_recording::window_recording(hetero_domain& domain) : domain_(domain) {
  if (task_journal::of_task_away() != nullptr) {
    throw usage_error("a window of tasks is recorded inside a task: record it in a chare");
  }
  if (!task_journal::is_near(&domain)) {
    throw usage_error("a window of tasks is recorded by another PE than the one it belongs to: record it there");
  }
  if (domain.recording != nullptr) {
    throw usage_error("a window of tasks is recorded inside another: record one after the other");
  }
  domain.close_reductions();
  window_ = new recorded_window(domain);
  domain.recording = window_;
}

window_recording::~window_recording() {
  if (window_ == nullptr) return;
  domain_.recording = nullptr;
  domain_.drop_reductions();
  window_->release();
}

task_window window_recording::finish() {
  domain_.close_reductions();
  window_->sum_up();
  domain_.recording = nullptr;
  return task_window(std::exchange(window_, nullptr));
}

// ------------------------------------------------------------------------------------------------ the handle

task_window::task_window(const task_window& other) : of_(other.of_) {
  if (of_ != nullptr) ++of_->references;
}

task_window::~task_window() {
  if (of_ != nullptr) of_->release();
}

std::size_t task_window::num_tasks() const { return of_ == nullptr ? 0 : of_->tasks.size(); }

bool task_window::in_order() const { return of_ == nullptr || of_->replays == recorded_window::kind::in_order; }

std::size_t task_window::num_devices() const {
  if (of_ == nullptr || !of_->is_one_task_of_devices()) return 0;
  return of_->on_several != nullptr ? of_->on_several->num_devices() : 1;
}

bool task_window::was_graph() const { return of_ != nullptr && of_->last != nullptr && of_->last->was_graph(); }

hetero_task task_window::replay() const {
  if (of_ == nullptr) throw usage_error("a window was replayed that is empty: record one");
  if (of_->domain->recording != nullptr) throw usage_error("a window cannot be replayed while one is recorded");
  if (task_journal::of_task_away() != nullptr) {
    throw usage_error("a window is replayed inside a task: replay it in a chare");
  }
  const bool each = of_->replays == recorded_window::kind::task_by_task;
  for (const recorded_window::use& u : of_->uses) {
    if (!reads(u.mode) || is_defined(*u.data)) continue;
    if (each && u.data->family != nullptr) continue;  // parts of it may be written before
    throw usage_error(
        fmt::format("a window of {} tasks reads an object of {} bytes that nobody has written: submit "
                    "what does before the replay",
                    of_->tasks.size(), u.data->bytes));
  }
  switch (of_->replays) {
    case recorded_window::kind::in_order: return window_run::submit(*of_);
    case recorded_window::kind::on_device: return window_on_device::submit(*of_, of_->on_one());
    case recorded_window::kind::on_devices: return window_on_device::submit(*of_, *of_->on_several);
    case recorded_window::kind::task_by_task: break;
  }
  return submit_each(*of_);
}

}  // namespace imbrex
