// What kind of memory a buffer lies in, and what finding that out costs: asked of the driver, which counts nothing.
#pragma once

#include "base/memory_kind.h"

namespace imbrex::sessions {

/// As the driver says; host where there is none.
memory_kind kind_of(const void* address);

/// What one query takes in a loop, in nanoseconds; -1 where that cannot be measured.
struct query_cost {
  double host_ns = -1, device_ns = -1;
};

/// Wants a context on this thread. The memory that it asks about is its own and gone when it returns.
query_cost measure_query_cost();

}  // namespace imbrex::sessions
