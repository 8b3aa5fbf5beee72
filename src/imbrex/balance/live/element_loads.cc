#include "imbrex/balance/live/element_loads.h"

#include "imbrex/object/collection/collection.h"
#include "imbrex/object/collection/entry_activity.h"

namespace imbrex {

namespace {

bool crosses_processes(const collection& part, const element_base& e) {
  if (!part.is_serialized()) return false;
  for (const entry_activity* a = e.activities; a != nullptr; a = a->following) {
    if (!part.is_restartable(*a)) return false;
  }
  return true;
}

}  // namespace

element_loads loads_of(const chare_pe& pe, const std::unordered_map<const actor*, std::int64_t>& times,
                       std::vector<measured_element>& measured) {
  element_loads loads;
  measured.clear();
  pe.for_each_part([&](collection& part) {
    for (element_base* e : part.here()) {
      element_load l;
      l.pe = pe.id();
      if (const auto known = times.find(e); known != times.end()) l.host_ns = known->second;
      l.pinned = e->extras && e->extras->pinned;
      l.crosses_processes = crosses_processes(part, *e);
      l.num_dimensions = part.place_of(*e, l.place);
      loads.all.push_back(l);
      measured.push_back({e, e->epoch});
    }
  });
  return loads;
}

}  // namespace imbrex
