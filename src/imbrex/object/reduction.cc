#include "imbrex/object/reduction.h"

namespace imbrex {

std::uint32_t& detail::next_of_section(element_base& e, const section_id& s) {
  section_numbers& all = e.more().section_reductions;
  for (auto& [id, next] : all) {
    if (id == s) return next;
  }
  all.emplace_back(s, 0);
  e.part->begin_contributing(s, e);
  return all.back().second;
}

reducer& detail::section_reducer(collection& part, const section_id& s, bool at_home) {
  reducer& red = part.add_section(s).reductions;
  red.wait_for_announcement(at_home);
  return red;
}

namespace {
/// Whose reduction it is, for reports.
std::string owner_of(scheduler& pe, const reduction_id& r) {
  const collection* const array = chare_pe::of(pe).find_collection(r.array);
  return fmt::format("{}{}", r.section.whole_array() ? "" : "a section of ",
                     array != nullptr ? array->chare_name() : "an array that is not known here");
}
}  // namespace

std::string detail::text_of_reduction(scheduler& pe, const reduction_id& r) {
  return fmt::format("reduction {} of {}", r.number, owner_of(pe, r));
}

std::string detail::text_of_contribution(const char* type, const char* op) {
  return fmt::format("a value of {} ({})", type, op);
}

void detail::refuse_contribution(const reducer& red, std::uint32_t number, const std::string& one,
                                 const std::string& other) {
  throw usage_error(fmt::format(
      "elements disagree about {}: one contributes {}, another {}; all contribute the same in the same "
      "order, and barriers, ix::balance, ix::checkpoint_point and write_field count (an element that goes on at "
      "another process calls its coroutine again: one point for each turn of its loop)",
      red.text_of(number), one, other));
}

std::string detail::text_of_result(const reduction_id& which) {
  chare_pe& pe = chare_pe::current();
  std::string text = "the result of a reduction of " + owner_of(pe, which);
  const reducer* const red = which.section.whole_array() ? find_reducer(pe, which) : nullptr;
  if (red != nullptr && red->num_expected() == 0) text += ", which has no elements";
  return text;
}

void detail::reduction_request::operator()(scheduler& pe) {
  reducer* red = find_reducer(pe, which);
  if (red == nullptr) {
    if (const collection* const c = chare_pe::of(pe).find_collection(which.array); c != nullptr)
      throw usage_error(c->text_of_freed());
    chare_pe::of(pe).hold_for_collection(which.array, std::move(*this));
    return;
  }
  red->ask(reply, std::move(wanted_type));
}

}  // namespace imbrex
