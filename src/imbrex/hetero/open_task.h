#pragma once

#include <cstddef>
#include <cstdint>
#include <exception>

#include "imbrex/hetero/task_node.h"

/// Uses of an object by somebody who is no task: its data leave for another PE, or come from one (Thomadakis and
/// Chrisochoides 2024, 3.2.3). They take their place in the order of uses. For the domain's PE.
namespace imbrex::detail {

/// A task that stands open on the host from when the data, or memory for them, are there until somebody ends it. Keep
/// a reference (`hetero_task`) as long as it is needed.
struct open_task final : task_node {
  task_access use;
  std::byte* memory = nullptr;  ///< null for an object of no bytes, too
  bool opened = false;          ///< conflicting uses before it are over, those after it wait

  /// Submits it. `told`, which is prepared to be posted, is woken once: when it is open, or when it has failed. Throws
  /// as a submission does.
  static open_task* submit(hetero_domain& domain, hetero_data& data, access_mode mode, const char* name, waiter& told);
  /// Of one that is open: the uses after it go on.
  void end();
  /// Of one that is open and writes: the data are worth nothing, who reads them fails with `why`.
  void fail(std::exception_ptr why);
};

/// Whether one handle is all that refers to `d`, which is no part of another object, besides tasks that use it.
bool has_one_handle(const hetero_data& d);
/// Whether the newest data are on the host and nobody uses them.
bool is_ready_on_host(hetero_data& d);
/// Writes an object that nobody has used yet.
void define_on_host(hetero_data& d, const std::byte* from);
/// Submits a task that copies one object to another of the same size, wherever there are data.
void submit_copy(hetero_data& from, hetero_data& to);

}  // namespace imbrex::detail
