#pragma once

#include <cstdint>
#include <new>
#include <utility>

#include "imbrex/async/work.h"
#include "imbrex/base/memory/slab.h"

namespace imbrex {

/// One entry of a stream of the host device: a function that runs in stream order on the PE's thread. Intrusive, from
/// the PE's slab.
struct stream_operation {
  stream_operation* next = nullptr;
  const char* name = "";                                  ///< static lifetime, for traces
  void (*act)(stream_operation*, work_action) = nullptr;  ///< does it (or not) and frees it
  bool (*ready)(stream_operation*) = nullptr;             ///< null: always; else whether the stream may pass
  bool is_kernel = false;                                 ///< computes: the PE looks for more urgent work after it
  bool only_reads = false;                                ///< changes no memory of the program's
  std::uint64_t number = 0;  ///< of a GPU's stream: runs after the operation of this number
};

namespace detail {
template <class F>
struct function_operation final : stream_operation {
  explicit function_operation(F f) : function(std::move(f)) {}
  F function;

  static stream_operation* make(const char* name, bool is_kernel, F f) {
    auto* op = new (slab::allocate(sizeof(function_operation))) function_operation(std::move(f));
    op->name = name;
    op->is_kernel = is_kernel;
    op->act = [](stream_operation* o, work_action action) {
      const struct end {
        ~end() {
          self->~function_operation();
          slab::free(self);
        }
        function_operation* self;
      } at_the_end{static_cast<function_operation*>(o)};
      if (action == work_action::run) at_the_end.self->function();
    };
    return op;
  }
};
}  // namespace detail

}  // namespace imbrex
