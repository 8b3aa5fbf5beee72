#include "imbrex/object/collection/section.h"

#include "imbrex/object/collection/collection.h"

namespace imbrex {

void section_end::operator()(scheduler& pe) {
  collection* const part = chare_pe::of(pe).find_collection(array);
  if (part == nullptr) {
    chare_pe::of(pe).hold_for_collection(array, std::move(*this));
    return;
  }
  section_part* const s = part->find_section(section);
  if (s != nullptr && s->announced) {
    for (const pe_id child : s->children) pe.send(child, section_end(*this), priorities::communication);
    part->free_section(section);
  } else if (!part->was_freed(section)) {
    pe.count_created();  // performed a second time
    part->add_section(section).held.push_back(
        active_message<section_end>::make(priorities::communication, std::move(*this)));
  }
}

void member_end::operator()(scheduler& pe) {
  collection& part = *chare_pe::of(pe).find_collection(array);
  if (section_part* const s = part.find_section(section)) s->reductions.element_died(first_missing);
}

}  // namespace imbrex
