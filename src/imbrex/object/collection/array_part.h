#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <string>
#include <unordered_map>
#include <vector>

#include "imbrex/object/collection/collection.h"
#include "imbrex/object/entry/index.h"
#include "imbrex/object/entry/map.h"
#include "imbrex/object/entry/record_table.h"

namespace imbrex {

/// One PE's part of a chare array, knowing the type of its indices.
template <class Index>
class array_part : public collection {
 public:
  array_part(chare_pe& pe, collection_id id, const char* chare_name, const Index& extent, bool filled)
      : collection(pe, id, chare_name), extent_(extent), bounded_(filled) {
    if constexpr (is_grid_index<Index>) {
      if (bounded_) table_.resize(volume(extent));
      first_slot_ = table_.flat();
    }
  }
  ~array_part() override {
    table_.for_each([](element<Index>* e) { delete_element(e); });
    for (auto& known : known_) delete_element(known.second);
  }

  /// Where the element is unless it was inserted elsewhere or moved. Throws `usage_error` for an index outside the
  /// extent, and when the map names no PE.
  pe_id home(const Index& i) const {
    if constexpr (is_grid_index<Index>) {
      if (bounded_ && !inside(i, extent_)) [[unlikely]]
        outside_extent(i);
    }
    const pe_id where = mapped(i);
    if (where < 0 || where >= pe().num_pes()) [[unlikely]]
      return home_of_unplaced(i, where);
    return where;
  }
  const Index& extent() const { return extent_; }
  /// Why there is no room for another element, and what to do.
  std::string with_remedy(std::string why) const {
    return bounded_ ? why + ": an array that grows is made with ix::empty_array" : why;
  }
  /// The same, but `otherwise` for an index that has no home.
  pe_id home_or(const Index& i, pe_id otherwise) const {
    if constexpr (is_grid_index<Index>) {
      if (bounded_ && !inside(i, extent_)) return otherwise;
    }
    const pe_id where = mapped(i);
    if (where >= 0 && where < pe().num_pes()) return where;
    return where >= 0 && folds_homes() ? where % pe().num_pes() : otherwise;
  }

  /// What is known of element `i`; made, pointing to its home, when nothing was. Throws `usage_error` for an index
  /// outside the extent.
  [[gnu::always_inline]] element<Index>& record(const Index& i) {
    if constexpr (is_grid_index<Index>) {
      if (first_slot_ != nullptr && inside(i, extent_)) [[likely]] {  // the table of a bounded array
        if (element<Index>* e = first_slot_[linear(i, extent_)]; e != nullptr) [[likely]]
          return *e;
      }
    }
    return look_up(Index(i));  // a copy: what the caller has may stay in registers
  }

  int index_numbers(const element_base& e, std::array<std::int32_t, 3>& numbers) const override {
    const Index& i = static_cast<const element<Index>&>(e).index;
    if constexpr (is_grid_index<Index>) {
      numbers[0] = i.x;
      if constexpr (requires { i.y; }) numbers[1] = i.y;
      if constexpr (requires { i.z; }) numbers[2] = i.z;
      return static_cast<int>(sizeof(Index) / sizeof(std::int32_t));
    } else {
      return 0;
    }
  }
  std::string index_text(const element_base& e) const override {
    return to_text(static_cast<const element<Index>&>(e).index);
  }
  void send_missed(const element_base& to, const broadcast_id& id, const shared_call& call) override;
  const char* name_of_index(const Index&) const { return chare_name(); }
  int place_of(const element_base& e, std::array<double, 3>& place) const override {
    if constexpr (is_grid_index<Index>) {
      if (volume(extent_) == 0) return 0;
      return relative_place(static_cast<const element<Index>&>(e).index, extent_, place);
    } else {
      return 0;
    }
  }
  void for_each_known(const std::function<void(element_base&)>& f) const override {
    table_.for_each([&](element<Index>* e) { f(*e); });
    for (auto& known : known_) f(*known.second);
  }

  std::vector<std::byte> index_bytes(const element_base& e) const override {
    return to_bytes(static_cast<const element<Index>&>(e).index);
  }
  pe_id home_of(const std::vector<std::byte>& index) const override { return home(index_from(index)); }
  element_base& record_of(const std::vector<std::byte>& index) override { return record(index_from(index)); }

 private:
  virtual pe_id mapped(const Index& i) const = 0;
  static Index index_from(const std::vector<std::byte>& bytes) {
    Index i{};
    from_bytes(bytes, i);
    return i;
  }

  [[gnu::noinline]] element<Index>& look_up(const Index& i) {
    if constexpr (is_grid_index<Index>) {
      if (bounded_ && !inside(i, extent_)) outside_extent(i);
      if (bounded_) {
        element<Index>*& slot = table_.slot(linear(i, extent_));
        if (slot == nullptr) slot = make_element(i);
        return *slot;
      }
    }
    if (const auto known = known_.find(i); known != known_.end()) return *known->second;
    element<Index>* e = make_element(i);  // may throw: nothing is noted before
    known_.emplace(i, e);
    return *e;
  }

  element<Index>* make_element(const Index& i) {
    const pe_id where = home(i);
    auto* e = new (slab::allocate(sizeof(element<Index>))) element<Index>(i);
    e->part = this;
    e->where = where;
    return e;
  }
  static void delete_element(element<Index>* e) {
    e->~element<Index>();
    slab::free(e);
  }
  [[noreturn]] void outside_extent(const Index& i) const {
    throw usage_error(
        fmt::format("{} has no element {}: its extent is {}", chare_name(), to_text(i), to_text(extent_)));
  }
  pe_id home_of_unplaced(const Index& i, pe_id where) const {
    if (where >= 0 && folds_homes()) return where % pe().num_pes();
    throw usage_error(fmt::format("the map of {} puts element {} on PE {}, but the PEs are 0 to {}", chare_name(),
                                  to_text(i), where, pe().num_pes() - 1));
  }

  Index extent_;
  bool bounded_;
  record_table<element<Index>> table_;     // of a bounded array
  element<Index>** first_slot_ = nullptr;  // of a table in one piece
  std::unordered_map<Index, element<Index>*, index_hash<Index>> known_;
};

}  // namespace imbrex

#include "imbrex/object/collection/singles.h"

namespace imbrex {

/// The part of collection `c` on `pe`, or null.
template <class Index>
[[gnu::always_inline]] inline array_part<Index>* find_part(scheduler& pe, collection_id c) {
  return static_cast<array_part<Index>*>(chare_pe::of(pe).find_collection(c));
}

/// "block(1, 2, 3)", for reports.
template <class Index>
[[gnu::cold]] std::string shown_element(scheduler& pe, collection_id c, const Index& i) {
  array_part<Index>* const part = find_part<Index>(pe, c);
  return std::string(part != nullptr ? part->name_of_index(i) : "element ") + to_text(i);
}

}  // namespace imbrex
