#include "imbrex/object/reduction.h"

namespace imbrex {

std::uint32_t& detail::next_of_section(element_base& e, const section_id& s) {
  section_numbers& all = e.more().section_reductions;
  for (auto& [id, next] : all) {
    if (id == s) return next;
  }
  return all.emplace_back(s, 0).second;
}

reducer& detail::section_reducer(collection& part, const section_id& s, bool at_home) {
  reducer& red = part.add_section(s).reductions;
  red.wait_for_announcement(at_home);
  return red;
}

void detail::reduction_request::operator()(scheduler& pe) {
  reducer* red = find_reducer(pe, which);
  if (red == nullptr) {
    if (chare_pe::of(pe).find_collection(which.array) != nullptr)
      throw usage_error("the reduction of a section that was freed");
    chare_pe::of(pe).hold_for_collection(which.array, std::move(*this));
    return;
  }
  red->ask(reply, std::move(wanted_type));
}

}  // namespace imbrex
