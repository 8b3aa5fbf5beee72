#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "imbrex/base/memory/slab_allocator.h"
#include "imbrex/object/collection/collection.h"
#include "imbrex/object/entry/index.h"
#include "imbrex/object/entry/single_slots.h"
#include "imbrex/pe/pe_numbers.h"

/// Singleton chares. All of a class form one collection that every PE knows without being told: making one is work of
/// the PE where it is to live, plus a message if that is another. A singleton is named by its home, where it was made
/// or is to be made; only the PE where it lives and its home keep anything of it, and nothing once it has ended.
namespace imbrex {

/// A class of singletons. One object per class, registered before main.
struct singles_class {
  using maker = std::unique_ptr<collection> (*)(chare_pe&, collection_id);
  singles_class(const char* name, maker m) : type_name(name), make(m) { registry().push_back(this); }

  const char* type_name;
  maker make;
  std::uint32_t number = 0;  ///< the same on every rank, set by `seal`

  static std::vector<singles_class*>& registry();
  /// Numbers the classes; returns a digest of their names.
  static std::uint64_t seal();
};

template <class Index>
class array_part;

/// One PE's part of the singletons of a class.
template <>
class array_part<no_index> : public collection {
 public:
  using record_type = element<no_index>;
  static constexpr std::uint64_t first_epoch = std::uint64_t{1} << 32;

  array_part(chare_pe& pe, collection_id id, const char* chare_name);
  ~array_part() override;

  pe_id home(const no_index& i) const { return pe().standing_for(i.home); }
  const no_index& extent() const { return extent_; }
  void send_missed(const element_base&, const broadcast_id&, const shared_call&) override {}  // nothing is broadcast

  /// Names the next one that this PE makes on PE `home`.
  no_index next(pe_id home) { return home == pe().id() ? name_own().index : next_elsewhere(home); }
  /// Names one whose home is this PE; its record.
  record_type& name_own();
  /// Whether the next one for which no place is given is placed, on all PEs in turn: the first few that this PE makes
  /// are. Those after them are seeds (object/seeds).
  bool places_next() {
    if (num_to_place_ == 0) [[likely]]
      return false;
    --num_to_place_;
    return true;
  }
  /// Home: `i` has been made here. What is not known of a singleton that has been made has ended.
  void note_made(const no_index& i);
  /// Home, of one that does not live anywhere: whether it has lived.
  bool was_made(const no_index& i) const;

  /// What is known of `i`, or null.
  record_type* find(const no_index& i) {
    if (is_in_slot(i)) [[likely]]
      return slots_.find(i.count);
    return find_by_hash(i);
  }
  /// The same; made, pointing to its home, when nothing was.
  record_type& record(const no_index& i);
  /// `e` is not known any more.
  void forget(record_type& e);
  /// Where a message to `i` goes from here; this PE when it lives here or is yet to come.
  pe_id next_stop_to(const no_index& i);

  const char* name_of(const element_base& e) const override;
  const char* name_of_index(const no_index& i);
  std::string index_text(const element_base&) const override { return {}; }
  int index_numbers(const element_base&, std::array<std::int32_t, 3>&) const override { return 0; }
  int place_of(const element_base&, std::array<double, 3>&) const override { return 0; }
  void for_each_known(const std::function<void(element_base&)>& f) const override;

  std::vector<std::byte> index_bytes(const element_base& e) const override;
  pe_id home_of(const std::vector<std::byte>& index) const override;
  element_base& record_of(const std::vector<std::byte>& index) override;
  void restore_section(section_id, const std::vector<std::vector<std::byte>>&) override {}
  /// Of all numbers by which this PE has named some.
  std::uint64_t largest_number() const;

 private:
  static constexpr std::uint64_t times_to_place = 4;  // on each PE
  no_index next_elsewhere(pe_id home) { return {home, pe().id(), ++named_.of(home)}; }
  bool is_in_slot(const no_index& i) const {
    return i.home == pe().id() && i.maker == i.home && slots_.may_have_named(i.count);
  }
  record_type* find_by_hash(const no_index& i);
  record_type& record_by_hash(const no_index& i);

  no_index extent_;
  single_slots<record_type> slots_;  // of those that their home, this PE, has named
  std::uint64_t num_to_place_;
  // Lists of known singletons are walked at the end and in reports; their elements are not part of the value.
  mutable std::unordered_map<no_index, record_type, index_hash<no_index>, std::equal_to<>,
                             slab_allocator<std::pair<const no_index, record_type>>>
      known_;
  pe_numbers named_;  // by home, another PE
  pe_numbers made_;   // by maker: all up to this one
  std::unordered_set<no_index, index_hash<no_index>> made_early_;
};

}  // namespace imbrex
