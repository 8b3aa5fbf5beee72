#pragma once

#include <algorithm>
#include <map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "imbrex/object/collection/array_part.h"
#include "imbrex/object/collection/section.h"

namespace imbrex {

template <class Index>
void section_request<Index>::operator()(scheduler& pe) {
  array_part<Index>* const part = find_part<Index>(pe, array);
  if (part == nullptr) {
    chare_pe::of(pe).hold_for_collection(array, std::move(*this));
    return;
  }
  std::map<pe_id, std::vector<Index>> of_pe{{pe.id(), {}}};
  std::unordered_set<Index, index_hash<Index>> seen;
  for (Index& i : members) {
    if (seen.insert(i).second) of_pe[part->home(i)].push_back(std::move(i));
  }
  section_announcement<Index> a{array, section, no_pe, {}};
  a.places.push_back({pe.id(), std::move(of_pe[pe.id()])});  // the root comes first
  of_pe.erase(pe.id());
  for (auto& [where, indices] : of_pe) a.places.push_back({where, std::move(indices)});
  a(pe);
}

template <class Index>
void section_announcement<Index>::operator()(scheduler& pe) {
  array_part<Index>* const part = find_part<Index>(pe, array);
  if (part == nullptr) {
    chare_pe::of(pe).hold_for_collection(array, std::move(*this));
    return;
  }
  section_part& s = part->add_section(section);
  constexpr std::size_t arity = 4;
  const std::size_t rest = places.size() - 1;
  std::uint64_t below = places.front().members.size();
  for (std::size_t c = 0, first = 1; c < std::min(arity, rest); ++c) {
    const std::size_t count = rest / arity + (c < rest % arity ? 1 : 0);
    const auto begin = places.begin() + static_cast<std::ptrdiff_t>(first);
    section_announcement child{array, section, pe.id(), {}};
    std::move(begin, begin + static_cast<std::ptrdiff_t>(count), std::back_inserter(child.places));
    for (const place& p : child.places) below += p.members.size();
    const pe_id to = child.places.front().pe;
    s.children.push_back(to);
    pe.send(to, std::move(child), priorities::communication);
    first += count;
  }
  s.announced = true;
  s.reductions.join_tree(parent, below);
  for (const Index& i : places.front().members) {
    element<Index>& e = part->record(i);
    const auto ended = std::ranges::find(s.ended, &e, [](const auto& known) { return known.first; });
    if (ended != s.ended.end() || e.state == presence::deleted) {
      const std::uint32_t first_missing = ended != s.ended.end() ? ended->second : 0;
      pe.send(pe.standing_for(section.creator), member_end{array, section, first_missing}, priorities::communication);
    } else {
      s.members.push_back(&e);
    }
  }
  s.ended.clear();
  pe.post_in_front(std::exchange(s.held, {}));
  part->check_claims(s);
}

}  // namespace imbrex
