#pragma once

#include <atomic>
#include <cstdint>
#include <exception>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "imbrex/async/activity.h"
#include "imbrex/base/memory/slab.h"
#include "imbrex/device/device.h"
#include "imbrex/device/kernel/kernel.h"
#include "imbrex/hetero/hetero_data.h"
#include "imbrex/hetero/task_bundle.h"

namespace imbrex {

class place;
struct task_node;

/// Somebody has to wait for a task.
struct task_edge {
  task_node* to = nullptr;
  task_edge* next = nullptr;
  bool from_slab = false;
  bool poisons = false;  ///< if the earlier one fails, so does `to`
  bool linked = false;   ///< no object orders the two: `to` needs the earlier one's end itself
};

/// One argument of a task that is an object: its place in the order of the object's uses. The edge is for the first use
/// that it has to wait for, most often the only one.
struct task_access : task_edge {
  bool queued : 1 = false;
  bool waits : 1 = false;  ///< the edge is in use
  access_mode mode = access_mode::read;
  hetero_data* data = nullptr;
  task_access* before = nullptr;  ///< in the list of the object's uses
  task_access* after = nullptr;

  task_node& by() const { return *to; }
};

/// How far a task is.
enum class task_state {
  waiting,   ///< for other tasks
  ready,     ///< could be placed
  fetching,  ///< placed; its data are coming, or its memory is being made free
  issued,    ///< enqueued on a device, or running
  done,
  failed,  ///< by itself or because a task before it failed
};

/// As reports name it.
constexpr const char* to_string(task_state s) {
  constexpr const char* names[] = {"waiting", "ready", "fetching", "issued", "done", "failed"};
  return names[static_cast<int>(s)];
}

/// Where and how a task runs.
struct task_call {
  place* at;
  stream* order;                          ///< of a device: enqueue here; null on the host
  std::span<std::byte* const> arguments;  ///< each object's copy there
  std::size_t first_part = 0;             ///< of a task in parts, on the host: those up to `last_part - 1`
  std::size_t last_part = 0;              ///< 0: all
};

/// Of a task of the host that several PEs may run at once, each some of its parts: the work-groups of a kernel.
struct task_parts {
  std::size_t total = 0;
  bool shared = false;   ///< others take parts of it; before, one PE has all of it
  std::size_t next = 0;  ///< the first that nobody has taken; as `shared`, guarded by the queue that the task is in
  std::atomic<std::size_t> left{0};  ///< that have not ended
  std::atomic<bool> failed{false};   ///< one has thrown, and its PE sets the task's `failure`
};

/// Who decides where a task runs.
enum class placed_by {
  policy,
  its_data,  ///< it runs where what its first argument names is: one that copies, or lends
  next_use,  ///< it writes, and runs where the task that will read that can, else on the host: one that receives
  next_use_on_device,  ///< the same of what comes from a device: if nobody is known who will read, on one
};

/// Whether the task runs where the one runs that will read what it writes.
constexpr bool is_by_next_use(placed_by p) { return p >= placed_by::next_use; }

/// When a task is over that has been started and has not failed. From `view` on it stays open.
enum class task_ending {
  with_run,        ///< when `run` has returned, or what it has enqueued is done
  with_window,     ///< never itself: it is recorded, and run as part of replays
  abandoned_view,  ///< as `with_run`: of a view that nobody wants any more
  view,            ///< when the coroutine that holds the view ends it
  told,            ///< when somebody says so
};

/// Whose `failure` a task's is.
enum class task_fault {
  none,
  own,        ///< `run` threw, or it could not be started
  inherited,  ///< of a task before it: it is never run
};

/// When a task ran; 0: it has not.
struct task_times {
  std::int64_t began_ns = 0;  ///< to run, not to wait
  std::int64_t ended_ns = 0;
};

/// What tasks may ask for besides their arguments.
struct task_wishes {
  const char* name = "task";  ///< static lifetime; for reports
  int priority = 0;           ///< the higher, the sooner, among those that could run
  std::int16_t number = -1;   ///< of the devices of that kind; -1: any
  device_kind kind : 8 = device_kind::host;
  bool any = true;  ///< on whatever there is
};

/// Told of a task's end on a device.
struct task_end_wait final : lane_wait {
  task_node* of = nullptr;
};

/// What most tasks do without: those of devices need it, those that are timed, and those that fail.
struct task_extras {
  std::uint64_t bytes = 0;  ///< of its objects, where there are devices; 0 until it has been submitted
  lane* open_in = nullptr;  ///< of a device's task that stays open: what uses its objects is enqueued there
  lane_point end;           ///< of a device's task that was issued
  task_end_wait end_wait;
  std::vector<lane_point> after;   ///< ends of tasks of devices that no object orders before it
  std::span<place* const> places;  ///< of one over several devices: by access, the one that uses the object
  task_times ran;                  ///< for policies that learn
  std::exception_ptr failure;
  std::shared_ptr<task_bundle::state> bundle;  ///< null: it is alone
  waiter* awaiting_afar = nullptr;  ///< `far_wait`s: the first of those that stand for coroutines of other PEs
};

/// What tasks of one type have in common.
struct task_type {
  /// Runs on the host, or enqueues on a device. May throw. Null: it is never run.
  void (*run)(task_node*, const task_call&) = nullptr;
  /// Destroys and frees it.
  void (*destroy)(task_node*) = nullptr;
  /// Null: it runs as one, always.
  task_parts* (*parts)(task_node*) = nullptr;
};

/// A task between its submission and its end. From the slab, counted references; for the domain's PE.
struct task_node {
  explicit task_node(const task_type& what) : type(&what) {}
  task_node(const task_node&) = delete;
  task_node& operator=(const task_node&) = delete;

  const task_type* type;
  hetero_domain* domain = nullptr;
  task_wishes wishes;
  std::uint64_t age = 0;  ///< the number of its submission
  std::uint32_t references = 0;
  std::uint32_t num_blockers = 0;
  task_state state : 8 = task_state::waiting;
  task_fault fault : 8 = task_fault::none;
  task_ending ends : 8 = task_ending::with_run;
  placed_by placed : 8 = placed_by::policy;
  bool in_progress : 1 = false;  ///< it is counted among the PE's operations
  bool sliced : 1 = false;       ///< it uses a slice, or an object with slices
  bool pinned : 1 = false;       ///< its copies have memory and stay
  bool takes_turns : 1 = false;  ///< with others, on what it commutes on
  bool is_spread : 1 = false;    ///< it runs on several devices: `extras().places`
  std::uint8_t runs_on = 0;      ///< where it can: bits of these
  static constexpr std::uint8_t on_the_host = 0x80;
  static constexpr std::uint8_t on_devices(device_kind k) {
    return static_cast<std::uint8_t>(1U << static_cast<unsigned>(k));
  }
  static std::uint8_t where_runs(const kernel_source& k) {
    unsigned where = 0;
    if (k.runs_on_host()) where |= on_the_host | on_devices(device_kind::host);
    if (k.runs_on_cuda()) where |= on_devices(device_kind::cuda);
    if (k.runs_on_opencl()) where |= on_devices(device_kind::opencl);
    return static_cast<std::uint8_t>(where);
  }
  std::uint16_t num_accesses = 0;
  task_access* accesses = nullptr;

  place* at = nullptr;  ///< once placed
  task_edge* successors = nullptr;
  waiter* awaiting = nullptr;  ///< the first; see `add_waiting`
  task_node* older = nullptr;  ///< of all that are not over
  task_node* younger = nullptr;
  task_node* next = nullptr;  ///< in whatever queue it stands

  std::span<task_access> uses() { return {accesses, num_accesses}; }
  /// Where it uses the object of this access.
  place& place_of(const task_access& a) const {
    return !is_spread ? *at : *extras_->places[static_cast<std::size_t>(&a - accesses)];
  }
  bool over() const { return state == task_state::done || state == task_state::failed; }
  bool threw() const { return fault == task_fault::own; }
  bool stays_open() const { return ends >= task_ending::view; }
  bool is_view() const { return ends == task_ending::view || ends == task_ending::abandoned_view; }
  bool is_recorded() const { return ends == task_ending::with_window; }
  /// Null: it runs as one.
  task_parts* parts() {
    task_parts* const p = type->parts != nullptr ? type->parts(this) : nullptr;
    return p != nullptr && p->total > 0 ? p : nullptr;
  }

  /// \name Of `task_extras`; as after its default constructor where there are none
  ///@{
  bool has_extras() const { return extras_ != nullptr; }
  /// Made now, if there are none.
  task_extras& extras() { return extras_ != nullptr ? *extras_ : make_extras(); }
  std::uint64_t bytes() const { return extras_ != nullptr ? extras_->bytes : 0; }
  lane* open_in() const { return extras_ != nullptr ? extras_->open_in : nullptr; }
  lane_point end() const { return extras_ != nullptr ? extras_->end : lane_point{}; }
  std::span<const lane_point> after() const {
    return extras_ != nullptr ? std::span<const lane_point>(extras_->after) : std::span<const lane_point>();
  }
  task_times ran() const { return extras_ != nullptr ? extras_->ran : task_times{}; }
  std::exception_ptr failure() const { return extras_ != nullptr ? extras_->failure : nullptr; }
  task_bundle::state* bundle() const { return extras_ != nullptr ? extras_->bundle.get() : nullptr; }
  ///@}

  void release() {
    if (--references == 0) type->destroy(this);
  }

 protected:
  ~task_node() {
    if (extras_ != nullptr) [[unlikely]]
      free_extras();
  }

 private:
  task_extras& make_extras();
  void free_extras();

  task_extras* extras_ = nullptr;
};

static_assert(sizeof(void*) != 8 || (sizeof(task_node) == 120 && sizeof(task_access) == 48),
              "a task of one object with a function of one word fits a block of 176 bytes: see docs/design/0010");

/// Frees a node of the slab: the `destroy` of its type.
template <class Node>
void destroy_node(task_node* t) {
  static_cast<Node*>(t)->~Node();
  slab::free(t);
}

/// \name Coroutines that wait for a task, by their `next`
///@{
void add_waiting(task_node& t, waiter& w);
void add_waiting_afar(task_node& t, waiter& w);
void stop_waiting(task_node& t, waiter& w);
void wake_waiting(task_node& t);
///@}

}  // namespace imbrex
