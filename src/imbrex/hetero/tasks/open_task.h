#pragma once

#include <cstddef>
#include <cstdint>
#include <exception>

#include "imbrex/hetero/task_node.h"

/// Uses of an object by somebody who is no task: its data leave for another PE, or come from one (Thomadakis and
/// Chrisochoides 2024, 3.2.3). They take their place in the order of uses. For the domain's PE.
namespace imbrex::detail {

/// A task that stands open, on the host or a device, from when the data, or memory for them, are there until somebody
/// ends it. One that reads opens where the newest data are, one that writes where the next task can use them. Keep a
/// reference (`hetero_task`) as long as it is needed.
struct open_task final : task_node {
  using task_node::task_node;
  task_access use;
  std::byte* memory = nullptr;  ///< null for an object of no bytes, too
  stream* order = nullptr;      ///< of a device: use the memory in its order; null: on the host, and at once
  bool opened = false;          ///< conflicting uses before it are over, those after it wait

  /// Submits it. `told`, which is prepared to be posted, is woken once: when it is open, or when it has failed. A task
  /// that is held takes its place in the order of uses, but does not open, and needs no memory, before `let_go`. Throws
  /// as a submission does.
  static open_task* submit(hetero_domain& domain, hetero_data& data, access_mode mode, const char* name, waiter& told,
                           bool held = false);
  /// Of one that is held. `from_device`: the data will come from a device, and go to one if nobody is known who reads
  /// them.
  void let_go(bool from_device);
  /// Of one that is open: the uses after it go on, behind what has been enqueued in `order` by now.
  void end();
  /// Of one that is open and writes: the data are worth nothing, who reads them fails with `why`.
  void fail(std::exception_ptr why);
};

/// Whether one handle is all that refers to `d`, which is no part of another object, besides tasks that use it.
bool has_one_handle(const hetero_data& d);
/// Whether the newest data are on the host and nobody uses them; not asked of objects with slices.
bool is_ready_on_host(hetero_data& d);
/// Writes an object that nobody has used yet.
void define_on_host(hetero_data& d, const std::byte* from);
/// Submits a task that copies one object to another of the same size, wherever there are data.
void submit_copy(hetero_data& from, hetero_data& to);

}  // namespace imbrex::detail
