#pragma once

#include <new>
#include <utility>

#include "imbrex/base/error.h"
#include "imbrex/comm/data/lent_buffer.h"
#include "imbrex/device/buffer.h"
#include "imbrex/device/stream.h"

namespace imbrex {

/// Memory of a device with a copy of what is sent: lent like the sender's own, but the runtime's, so that the sender
/// may leave. It ends when it comes back, on the PE that made it; who reads it gives it back when that has been done,
/// and not before (`lent_buffer::is_copy`).
struct lent_copy : lent_state {
  explicit lent_copy(buffer<std::byte> m) : memory(std::move(m)) {
    home = executor::current();
    act = &lent_copy::come;
    is_copy = true;
    set_priority(priorities::communication);
    ++home->operations;
  }

  /// Copies what `lent` holds, memory of the device of `s`, in the order of `s`, in which it goes back; `lent` holds
  /// the copy from then on. False, and nothing is done, when the device has no memory for that.
  static bool replace(lent_buffer& lent, stream& s) try {
    buffer<std::byte> memory(s.on(), lent.bytes());
    s.copy(memory.data(), lent.data(), lent.bytes());
    lent.give_back_after(s.record());
    auto* const copy = new (slab::allocate(sizeof(lent_copy))) lent_copy(std::move(memory));
    lent = lent_buffer(copy->memory.data(), copy->memory.size(), copy);
    return true;
  } catch (const out_of_memory&) {
    return false;
  }

 private:
  static void come(work* w, work_action) {
    auto* s = static_cast<lent_copy*>(w);
    --s->home->operations;
    s->~lent_copy();
    slab::free(s);
  }

  buffer<std::byte> memory;
};

}  // namespace imbrex
