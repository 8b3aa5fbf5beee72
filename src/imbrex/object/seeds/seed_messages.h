#pragma once

#include <cstdint>
#include <vector>

#include "imbrex/object/collection/array_part.h"
#include "imbrex/object/seeds/seed_pool.h"

/// What PEs tell each other of seeds.
namespace imbrex {

/// PE `where` has taken seeds of the PE that gets this, of the same process.
struct seeds_taken {
  struct one {
    collection_id array;
    no_index index;
    std::uint64_t epoch = 0;
  };
  pe_id where = no_pe;
  std::vector<one> seeds;

  void operator()(scheduler& pe) {
    for (const one& s : seeds) seed_pool::of(pe).note_gone(s.array, s.index, s.epoch, where);
  }
  template <class Archive>
  void serialize(Archive&) {}  // never leaves its process
};

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

/// This PE has the seed of `index`: what comes for the chare waits here.
inline void expect(const scheduler& pe, array_part<no_index>& part, const no_index& index, std::uint64_t epoch) {
  element<no_index>& e = part.record(index);
  if (e.epoch >= epoch) return;
  e.epoch = epoch;
  e.where = pe.id();
  e.state = presence::expected;
}

}  // namespace imbrex
