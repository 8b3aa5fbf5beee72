#include "imbrex/object/collection/singles.h"

#include <algorithm>

#include "imbrex/object/collection/array_part.h"
#include "imbrex/pe/registered_types.h"

namespace imbrex {

std::vector<singles_class*>& singles_class::registry() {
  static std::vector<singles_class*> all;
  return all;
}

std::uint64_t singles_class::seal() { return detail::number_by_name(registry()); }

using singles = array_part<no_index>;

singles::array_part(chare_pe& pe, collection_id id, const char* chare_name) : collection(pe, id, chare_name) {
  num_to_place_ = pe.num_pes() == 1 ? 0 : times_to_place * static_cast<std::uint64_t>(pe.num_pes());
  slots_.name_after(pe.num_singles_before());
  named_.start_after(pe.num_singles_before());
  made_.start_after(pe.num_singles_before());
  set_complete();
  has_no_reductions();
}

singles::~array_part() = default;

singles::record_type& singles::name_own() {
  record_type& e = slots_.take(pe().id());
  e.part = this;
  e.where = pe().id();
  e.epoch = first_epoch;
  return e;
}

// They come in the order in which they were named, except when priorities or the network reorder them.
void singles::note_made(const no_index& i) {
  if (is_in_slot(i)) return;
  std::uint64_t& last = made_.of(i.maker);
  if (i.count != last + 1) {
    made_early_.insert(i);
    return;
  }
  ++last;
  while (!made_early_.empty() && made_early_.erase({i.home, i.maker, last + 1}) > 0) ++last;
}

bool singles::was_made(const no_index& i) const {
  if (is_in_slot(i)) return slots_.find(i.count) == nullptr;
  return i.count <= made_.known(i.maker) || made_early_.contains(i);
}

singles::record_type* singles::find_by_hash(const no_index& i) {
  const auto known = known_.find(i);
  return known != known_.end() ? &known->second : nullptr;
}

singles::record_type& singles::record(const no_index& i) {
  if (record_type* const e = is_in_slot(i) ? slots_.find(i.count) : nullptr; e != nullptr) return *e;
  return record_by_hash(i);
}

singles::record_type& singles::record_by_hash(const no_index& i) {
  record_type& e = known_.try_emplace(i, i).first->second;
  if (e.part == nullptr) {
    e.part = this;
    e.where = home(i);
  }
  return e;
}

void singles::forget(record_type& e) {
  if (is_in_slot(e.index) && slots_.find(e.index.count) == &e) {
    slots_.give_back(e);
  } else {
    known_.erase(no_index(e.index));
  }
}

pe_id singles::next_stop_to(const no_index& i) {
  const record_type* const e = find(i);
  if (e == nullptr) return home(i);
  return e->object != nullptr ? pe().id() : e->where;
}

const char* singles::name_of(const element_base& e) const {
  const char* const own = e.object != nullptr ? e.object->own_name() : nullptr;
  return own != nullptr ? own : chare_name();
}

const char* singles::name_of_index(const no_index& i) {
  const record_type* const e = find(i);
  return e != nullptr ? name_of(*e) : chare_name();
}

void singles::for_each_known(const std::function<void(element_base&)>& f) const {
  slots_.for_each(f);
  for (auto& [index, e] : known_) f(e);
}

namespace {
no_index index_from(const std::vector<std::byte>& bytes) {
  no_index i;
  from_bytes(bytes, i);
  return i;
}
}  // namespace

std::vector<std::byte> singles::index_bytes(const element_base& e) const {
  return to_bytes(static_cast<const record_type&>(e).index);
}
pe_id singles::home_of(const std::vector<std::byte>& index) const { return home(index_from(index)); }
element_base& singles::record_of(const std::vector<std::byte>& index) { return record(index_from(index)); }

std::uint64_t singles::largest_number() const { return std::max(named_.largest(), slots_.largest_name()); }

}  // namespace imbrex
