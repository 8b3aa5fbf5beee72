#pragma once

#include <memory>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "imbrex/object/element.h"
#include "imbrex/object/index.h"
#include "imbrex/object/map.h"
#include "imbrex/object/reducer.h"
#include "imbrex/object/scheduler.h"

namespace imbrex {

/// This PE's part of a chare array, group or singleton: the elements that live here and what is known of others.
class collection {
 public:
  collection(scheduler& pe, collection_id id, const char* chare_name);
  virtual ~collection();
  collection(const collection&) = delete;
  collection& operator=(const collection&) = delete;

  scheduler& pe() const { return pe_; }
  collection_id id() const { return id_; }
  /// The PE that created the collection: where its reductions end.
  pe_id root() const { return id_.creator; }
  const char* chare_name() const { return chare_name_; }
  const std::vector<element_base*>& here() const { return here_; }
  /// "block(1, 2, 3)".
  virtual std::string text(const element_base& e) const = 0;
  /// Calls `f` for every element this PE knows of.
  virtual void for_each_known(const std::function<void(element_base&)>& f) const = 0;

  /// `object` lives here from now on as `e`; what was held for it becomes runnable.
  void settle(element_base& e, chare_base* object);
  /// `e` lives here no more; its object and waiting coroutines are destroyed.
  void unsettle(element_base& e, presence becomes, pe_id where);
  /// Keeps a message until the element exists. Quiescence does not wait for it meanwhile.
  void hold(element_base& e, work* message);
  /// Makes what was held runnable: it will look again.
  void release_held(element_base& e);
  void destroy_objects();

  /// Whether the elements that the array was created with are here: broadcasts wait for that.
  bool complete() const { return complete_; }
  void set_complete() { complete_ = true; }

  /// Whether elements have come, gone or moved since the array was created.
  bool changing() const { return changing_; }
  void set_changing();
  /// Root: the first epoch of an element that is about to be inserted, newer than those of its forerunners.
  std::uint64_t new_epoch() { return ++insertions_ << 32; }

  reducer& reductions() { return reductions_; }
  /// The part of a section on this PE; made, not yet announced, when it was not known.
  section_part& add_section(const section_id& s);

 private:
  scheduler& pe_;
  const collection_id id_;
  const char* chare_name_;
  bool complete_ = false;
  bool changing_ = false;
  std::uint64_t insertions_ = 0;
  std::vector<element_base*> here_;
  reducer reductions_;
  std::vector<std::pair<section_id, std::unique_ptr<section_part>>> sections_;
};

/// The same, knowing the type of its indices.
template <class Index>
class array_part : public collection {
 public:
  array_part(scheduler& pe, collection_id id, const char* chare_name, const Index& extent, bool filled)
      : collection(pe, id, chare_name), extent_(extent), bounded_(filled) {
    if constexpr (is_grid_index<Index>) {
      if (bounded_ && volume(extent) <= max_table) {
        table_.resize(volume(extent), nullptr);
        first_slot_ = table_.data();
      }
    }
  }
  ~array_part() override {
    for (element<Index>* e : table_) delete_element(e);
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
      bad_home(i, where);
    return where;
  }
  const Index& extent() const { return extent_; }

  /// What is known of element `i`; made, pointing to its home, when nothing was. Throws `usage_error` for an index
  /// outside the extent.
  [[gnu::always_inline]] element<Index>& record(const Index& i) {
    if constexpr (is_grid_index<Index>) {
      if (first_slot_ != nullptr && inside(i, extent_)) [[likely]] {  // the table of a bounded array
        if (element<Index>* e = first_slot_[linear(i, extent_)]; e != nullptr) [[likely]]
          return *e;
      }
    }
    return look_up(i);
  }

  std::string text(const element_base& e) const override {
    return chare_name() + to_text(static_cast<const element<Index>&>(e).index);
  }
  void for_each_known(const std::function<void(element_base&)>& f) const override {
    for (element<Index>* e : table_) {
      if (e != nullptr) f(*e);
    }
    for (auto& known : known_) f(*known.second);
  }

 private:
  virtual pe_id mapped(const Index& i) const = 0;

  static constexpr std::uint64_t max_table = std::uint64_t{1} << 22;

  [[gnu::noinline]] element<Index>& look_up(const Index& i) {
    if constexpr (is_grid_index<Index>) {
      if (bounded_ && !inside(i, extent_)) outside_extent(i);
      if (first_slot_ != nullptr) return *(table_[linear(i, extent_)] = make_element(i));
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
    if (e == nullptr) return;
    e->~element<Index>();
    slab::free(e);
  }
  [[noreturn]] void outside_extent(const Index& i) const {
    throw usage_error(
        fmt::format("{} has no element {}: its extent is {}", chare_name(), to_text(i), to_text(extent_)));
  }
  [[noreturn]] void bad_home(const Index& i, pe_id where) const {
    throw usage_error(fmt::format("the map of {} puts element {} on PE {}, but the PEs are 0 to {}", chare_name(),
                                  to_text(i), where, pe().num_pes() - 1));
  }

  Index extent_;
  bool bounded_;
  std::vector<element<Index>*> table_;
  element<Index>** first_slot_ = nullptr;
  std::unordered_map<Index, element<Index>*, index_hash<Index>> known_;
};

/// The same, knowing the map.
template <class Index, class Map>
class mapped_part final : public array_part<Index> {
 public:
  mapped_part(scheduler& pe, collection_id id, const char* chare_name, const array_shape<Index, Map>& shape)
      : array_part<Index>(pe, id, chare_name, shape.extent, shape.filled), map_(shape.map) {}

 private:
  pe_id mapped(const Index& i) const override { return map_to_pe(map_, i, this->extent(), this->pe().num_pes()); }

  Map map_;
};

/// The part of collection `c` on `pe`, or null.
template <class Index>
array_part<Index>* find_part(scheduler& pe, collection_id c) {
  return static_cast<array_part<Index>*>(pe.find_collection(c));
}

}  // namespace imbrex
