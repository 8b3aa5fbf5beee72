#include "imbrex/object/seeds/single_ends.h"

#include "imbrex/object/collection/array_part.h"
#include "imbrex/object/collection/chare_pe.h"

namespace imbrex {

namespace {

/// At the home of singletons that have ended elsewhere.
struct singles_ended {
  collection_id array;
  std::vector<no_index> all;

  void operator()(scheduler& pe) {
    array_part<no_index>& part = *find_part<no_index>(pe, array);
    for (const no_index& i : all) {
      element<no_index>* const e = part.find(i);
      if (e == nullptr) continue;
      part.release_held(*e);
      part.forget(*e);
    }
  }
  template <class Archive>
  void serialize(Archive& ar) {
    ar & array & all;
  }
};

}  // namespace

void single_ends::tell(scheduler& pe) {
  if (ended_.empty()) return;
  pe.send(home_, singles_ended{array_, std::move(ended_)}, priorities::communication);
  ended_ = {};
}

}  // namespace imbrex
