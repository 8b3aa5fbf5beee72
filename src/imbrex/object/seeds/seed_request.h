#pragma once

#include "imbrex/object/seeds/seed_pool.h"

namespace imbrex {

/// A PE of another process has nothing to do. Not waited for: it may wait until the end of the job.
struct seed_request {
  static constexpr bool counted = false;
  pe_id from = no_pe;

  void operator()(scheduler& pe) { seed_pool::of(pe).asked_by(from); }
  template <class Archive>
  void serialize(Archive& ar) {
    ar & from;
  }
};

}  // namespace imbrex
