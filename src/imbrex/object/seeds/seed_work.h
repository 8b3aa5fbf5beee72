#pragma once

#include <cstdint>

#include "imbrex/async/work.h"
#include "imbrex/base/ids.h"
#include "imbrex/object/entry/index.h"

namespace imbrex {

class scheduler;

/// A seed: what a single chare for which no place was given is made of. It is work of one PE at a time, from its
/// maker's on, until it is run, which makes the chare. It is counted as created when it is made and as processed when
/// it runs, and so like a message that is on its way.
struct seed_work : work {
  collection_id array;
  no_index index;
  std::uint64_t flow = 0;  ///< of the trace
  /// Sends what it is made of to a PE of another process, and ends it.
  void (*leave)(scheduler& pe, pe_id to, seed_work* s) = nullptr;

  /// The next one in a chain of some.
  seed_work* following() const { return static_cast<seed_work*>(next); }
};

}  // namespace imbrex
