#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "imbrex/hetero/access_mode.h"
#include "imbrex/hetero/submission/task_function.h"
#include "imbrex/hetero/tasks/hetero_domain.h"
#include "imbrex/hetero/tasks/hetero_task.h"

/// Tasks whose parameters are known when the program runs: for other languages, and for programs that read what to do
/// from a file. C++ has `submit` (submit.h), which the compiler checks.
namespace imbrex {

/// An object that an untyped task uses: `hetero_object::data()`.
struct untyped_use {
  hetero_data* data;
  access_mode mode;
  hetero_data* reduces_into = nullptr;  ///< set by `untyped_reduce`: then `data` is a part for that object
};

/// Where and how an untyped task runs.
struct untyped_call {
  stream* order = nullptr;               ///< of a device: enqueue here, and do not wait; null on the host
  memory_kind kind = memory_kind::host;  ///< where the objects are
  std::span<std::byte* const> objects;   ///< in the order of the uses
};

/// Submits a function of what it is called with. `where`: bits of `task_node::on_the_host` and `on_devices`. On the
/// host it may run on another PE's thread. The function is destroyed when the task is over and its handles are gone, on
/// any PE. Throws `usage_error`, `device_error` and `out_of_memory` for what could never run.
hetero_task submit_untyped(hetero_domain& domain, const task_options& o, std::uint8_t where,
                           std::vector<untyped_use> uses, std::function<void(const untyped_call&)> f);

/// Submits a kernel. `values[i]` is the value of its i-th parameter, of `value_bytes()`; empty where it is a pointer,
/// which stands for the next of the uses, in whose mode `write` may be said where the kernel would read what it
/// overwrites. Throws `usage_error` besides for another number of values or uses, and for a use that writes what the
/// kernel only reads.
hetero_task submit_untyped(hetero_domain& domain, task_options o, const kernel_source& k, const launch_shape& shape,
                           std::vector<untyped_use> uses, std::vector<std::vector<std::byte>> values);

}  // namespace imbrex
