#include "imbrex/object/collection/section.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "imbrex/base/error.h"
#include "imbrex/object/collection/collection.h"

namespace imbrex {

void detail::refuse_empty_section() {
  throw usage_error("a section has no members: name the elements that are to be in it, one at least");
}

void section_end::operator()(scheduler& pe) {
  collection* const part = chare_pe::of(pe).find_collection(array);
  if (part == nullptr) {
    chare_pe::of(pe).hold_for_collection(array, std::move(*this));
    return;
  }
  section_part* const s = part->find_section(section);
  if (s != nullptr && s->announced) {
    for (const pe_id child : s->children) pe.send(child, section_end(*this), priorities::communication);
    const bool is_awaited = s->reductions.is_awaited();
    part->free_section(section);
    if (is_awaited) throw usage_error(part->text_of_freed());
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

// ------------------------------------------------------------------------------------------------ of a collection

section_part* collection::find_section(const section_id& s) {
  for (auto& known : sections_) {
    if (known.first == s) return known.second.get();
  }
  return nullptr;
}

section_part& collection::add_section(const section_id& s) {
  if (section_part* const known = find_section(s)) return *known;
  sections_.emplace_back(s, std::make_unique<section_part>(pe_, *this, s));
  if (ever_changed_) sections_.back().second->reductions.set_changing();
  return *sections_.back().second;
}

void collection::free_section(const section_id& s) {
  std::erase_if(sections_, [&](const auto& known) { return known.first == s; });
  freed_sections_.push_back(s);
}

std::string collection::text_of_freed() const {
  return fmt::format(
      "the reduction of a section of {} is awaited, but the section has been freed: free it when its last result is "
      "there",
      chare_name());
}

bool collection::was_freed(const section_id& s) const {
  return std::find(freed_sections_.begin(), freed_sections_.end(), s) != freed_sections_.end();
}

namespace {
/// Which one it is of those that had the index one after another.
std::uint32_t life_of(std::uint64_t epoch) { return static_cast<std::uint32_t>(epoch >> 32); }

/// To an element's home: it has contributed to a section for the first time.
struct claim_of_member {
  collection_id array;
  section_id section;
  std::vector<std::byte> index;
  std::uint64_t epoch = 0;

  void operator()(scheduler& pe) {
    if (collection* const part = chare_pe::of(pe).find_collection(array)) {
      element_base& e = part->record_of(index);
      // Told from where it was before it moved, the claim may come when it has ended, and been made again.
      if (life_of(e.epoch) <= life_of(epoch)) part->check_member(section, e);
    } else {
      chare_pe::of(pe).hold_for_collection(array, std::move(*this));
    }
  }
  template <class Archive>
  void serialize(Archive& ar) {
    ar & array & section & index & epoch;
  }
};
}  // namespace

void collection::begin_contributing(const section_id& s, element_base& e) {
  if (was_freed(s)) return;
  std::vector<std::byte> index = index_bytes(e);
  const pe_id home = home_of(index);
  if (home == pe_.id()) return check_member(s, e);
  pe_.send(home, claim_of_member{id_, s, std::move(index), e.epoch}, priorities::communication);
}

void collection::check_member(const section_id& s, element_base& e) {
  if (was_freed(s) || e.state == presence::deleted) return;
  section_part& part = add_section(s);
  if (!part.announced) {
    part.claimed.push_back(&e);
    pe_.count_held(1);  // for ever, if no member is at home here
  } else if (std::ranges::find(part.members, &e) == part.members.end()) {
    throw usage_error(text_of_non_member(e));
  }
}

void collection::check_claims(section_part& s) {
  pe_.count_held(-static_cast<int>(s.claimed.size()));
  for (const element_base* e : std::exchange(s.claimed, {})) {
    const bool is_member = std::ranges::find(s.members, e) != s.members.end();
    if (!is_member && e->state != presence::deleted) throw usage_error(text_of_non_member(*e));
  }
}

void collection::refuse_claims() {
  for (const auto& [id, part] : sections_) {
    if (!part->claimed.empty()) throw usage_error(text_of_non_member(*part->claimed.front()));
  }
}

std::string collection::text_of_non_member(const element_base& e) {
  return fmt::format(
      "{} has contributed to a section that it is not a member of: name it when the section is made, or have members "
      "alone contribute",
      e.part->text(e));
}

void collection::member_ended(element_base& e, const section_numbers& next) {
  for (const auto& [id, number] : next) {
    if (was_freed(id)) continue;
    if (section_part& part = add_section(id); !part.announced) part.ended.emplace_back(&e, number);
  }
  for (auto& [id, part] : sections_) {
    if (std::erase(part->members, &e) == 0) continue;
    const auto number = std::find_if(next.begin(), next.end(), [&, of = id](const auto& n) { return n.first == of; });
    pe_.send(pe_.standing_for(id.creator), member_end{id_, id, number != next.end() ? number->second : 0},
             priorities::communication);
  }
}

void collection::for_each_section(const std::function<void(const section_id&, const section_part&)>& f) const {
  for (const auto& [id, part] : sections_) f(id, *part);
}

}  // namespace imbrex
