#include "imbrex/hetero/windows/task_window.h"

#include <algorithm>
#include <new>
#include <numeric>
#include <tuple>
#include <unordered_map>

#include <fmt/format.h>

#include "imbrex/base/clock.h"
#include "imbrex/base/error.h"
#include "imbrex/base/memory/slab.h"
#include "imbrex/hetero/coherence/slices.h"
#include "imbrex/hetero/tasks/recorded_window.h"

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

/// A node for a replay as a whole, with the uses of all tasks.
template <class Node>
Node* new_whole(recorded_window& w) {
  auto* n = new_node<Node>(w, w.uses.size());
  for (std::size_t i = 0; i < w.uses.size(); ++i) {
    n->accesses[i].data = w.uses[i].data;
    n->accesses[i].mode = w.uses[i].mode;
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
    auto* n = new_whole<window_run>(w);
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
    const std::uint64_t began = cycle_count();
    const std::vector<task_node*>& tasks = window->tasks;
    while (position < tasks.size()) {
      task_node& t = *tasks[position++];
      t.at = at;
      domain->call(t, nullptr);
      if (t.threw()) [[unlikely]] {
        fail_with(*this, t);
        break;
      }
      if (position % 16 == 0 && position < tasks.size() && cycle_count() - began > cycles_in_a_turn) {
        posted = true;
        domain->pe().post(&next_turn);
        return;
      }
    }
    ends = task_ending::with_run;
  }
};

/// A whole window on a device, as one task.
struct window_on_device final : task_node {
  using task_node::task_node;
  recorded_window* window = nullptr;

  static hetero_task submit(recorded_window& w, const place& at) {
    auto* n = new_whole<window_on_device>(w);
    n->extras().bytes = w.bytes();
    n->wishes.any = false;
    n->wishes.kind = at.kind();
    n->wishes.number = static_cast<std::int16_t>(at.on().number());
    n->runs_on = on_devices(at.kind());
    hetero_task handle(n);
    w.domain->submit(n);
    return handle;
  }
  static void go(task_node* t, const task_call& c) {
    recorded_window& of = *static_cast<window_on_device*>(t)->window;
    of.last_at = c.at;
    std::unique_ptr<device_window>& there = of.on_devices[c.at];
    if (there == nullptr) there = std::make_unique<device_window>(of, c.at->compute().size());
    if (task_node* const failed = there->run(*c.at, *c.order); failed != nullptr) fail_with(*t, *failed);
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
  auto dependency = w.after.begin();
  std::vector<hetero_task> after;
  for (task_node* t : w.tasks) {
    replayed_task* const n = replayed_task::make(w, *t);
    all.emplace_back(n);
    after.clear();
    for (; dependency != w.after.end() && dependency->first == t->age; ++dependency) {
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

// ------------------------------------------------------------------------------------------------ recording

recorded_window::recorded_window(hetero_domain& d) : domain(&d) {
  for (const auto& p : d.places()) {
    if (!p->is_host()) devices.push_back(p.get());
  }
}

recorded_window::~recorded_window() {
  for (task_node* t : tasks) {
    for (const task_access& a : t->uses()) domain->copies().release(a.data);
    t->num_accesses = 0;
    t->release();
  }
}

void recorded_window::keep(task_node& t, bool only_on_host) {
  for (const task_access& a : t.uses()) ++a.data->references;
  ++t.references;
  t.age = tasks.size() + 1;
  t.ends = task_ending::with_window;
  in_order &= only_on_host;
  tasks.push_back(&t);
}

namespace {
/// Whether each task has to do with each other one, by objects that some task of the window writes, or by `after`.
bool connects_all(const recorded_window& w) {
  std::vector<std::size_t> parts(w.tasks.size());  // a task of the same part; the last of these is its own
  std::iota(parts.begin(), parts.end(), std::size_t{0});
  const auto part_of = [&](std::size_t i) {
    while (parts[i] != i) i = parts[i] = parts[parts[i]];
    return i;
  };
  std::unordered_map<const hetero_data*, std::size_t> user_of;
  for (const recorded_window::use& u : w.uses) {
    if (writes(u.mode)) user_of.emplace(u.data, w.tasks.size());
  }
  std::size_t num_parts = w.tasks.size();
  const auto join = [&](std::size_t a, std::size_t b) {
    if (part_of(a) == part_of(b)) return;
    parts[part_of(a)] = part_of(b);
    --num_parts;
  };
  for (std::size_t i = 0; i < w.tasks.size(); ++i) {
    for (const task_access& a : w.tasks[i]->uses()) {
      const auto at = user_of.find(a.data);
      if (at == user_of.end()) continue;
      if (at->second == w.tasks.size()) {
        at->second = i;
      } else {
        join(i, at->second);
      }
    }
  }
  for (const auto& [later, earlier] : w.after) join(later - 1, earlier - 1);
  return num_parts == 1;
}
}  // namespace

const place& recorded_window::choose_device() const {
  const place* best = nullptr;
  std::tuple<std::uint64_t, std::uint64_t, bool> least;
  for (const place* p : devices) {
    std::uint64_t missing = 0;
    for (const use& u : uses) {
      if (reads(u.mode) && state_of(*u.data, p->number()) == coherence::invalid) missing += u.data->bytes;
    }
    const std::tuple costs(missing, p->num_tasks(), p != last_at);
    if (best != nullptr && costs >= least) continue;
    best = p;
    least = costs;
  }
  return *best;
}

/// What is written first needs nothing of before; what is read only lets others read meanwhile.
void recorded_window::sum_up() {
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
  in_order &= as_one;
  is_connected = as_one && connects_all(*this);
  std::erase_if(devices, [&](const place* p) { return !as_one || bytes() > p->capacity(); });
}

std::uint64_t recorded_window::bytes() const {
  std::uint64_t sum = 0;
  for (const use& u : uses) sum += u.data->bytes;
  return sum;
}

namespace detail {

window_recorder::window_recorder(hetero_domain& domain) : domain_(domain) {
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

window_recorder::~window_recorder() {
  domain_.recording = nullptr;
  if (window_ == nullptr) return;
  domain_.drop_reductions();
  window_->release();
}

recorded_window* window_recorder::finish() {
  domain_.close_reductions();
  window_->sum_up();
  return std::exchange(window_, nullptr);
}

}  // namespace detail

// ------------------------------------------------------------------------------------------------ the handle

task_window::task_window(const task_window& other) : of_(other.of_) {
  if (of_ != nullptr) ++of_->references;
}

task_window::~task_window() {
  if (of_ != nullptr) of_->release();
}

std::size_t task_window::num_tasks() const { return of_ == nullptr ? 0 : of_->tasks.size(); }

bool task_window::in_order() const { return of_ == nullptr || of_->in_order; }

bool task_window::on_device() const { return of_ != nullptr && of_->as_a_whole(); }

bool task_window::was_graph() const {
  return of_ != nullptr && of_->last_at != nullptr && of_->on_devices.at(of_->last_at)->was_graph();
}

hetero_task task_window::replay() const {
  if (of_ == nullptr) throw usage_error("a window was replayed that is empty: record one");
  if (of_->domain->recording != nullptr) throw usage_error("a window cannot be replayed while one is recorded");
  if (task_journal::of_task_away() != nullptr) {
    throw usage_error("a window is replayed inside a task: replay it in a chare");
  }
  for (const recorded_window::use& u : of_->uses) {
    if (!reads(u.mode) || is_defined(*u.data)) continue;
    if (!of_->in_order && !on_device() && u.data->family != nullptr) continue;  // parts of it may be written before
    throw usage_error(
        fmt::format("a window of {} tasks reads an object of {} bytes that nobody has written: submit "
                    "what does before the replay",
                    of_->tasks.size(), u.data->bytes));
  }
  if (of_->in_order) return window_run::submit(*of_);
  return on_device() ? window_on_device::submit(*of_, of_->choose_device()) : submit_each(*of_);
}

}  // namespace imbrex
