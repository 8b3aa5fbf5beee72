#pragma once

#include <memory>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "imbrex/object/broadcast_ledger.h"
#include "imbrex/object/broadcast_slices.h"
#include "imbrex/object/census.h"
#include "imbrex/object/element.h"
#include "imbrex/object/head_count.h"
#include "imbrex/object/index.h"
#include "imbrex/object/map.h"
#include "imbrex/object/reducer.h"
#include "imbrex/object/scheduler.h"
#include "imbrex/object/section.h"

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
  /// Performs what is held once more, now.
  void retry_held();
  void destroy_objects();

  /// \name Elements that are here but may not run yet: they have broadcasts to hear first, or are not counted yet
  ///@{
  /// Whether there are none, nor broadcasts that not all elements have heard yet.
  bool calm() const { return unsettled_ == 0; }
  /// Lets `e` hear what it has to; false when its messages must be held.
  bool may_run(element_base& e) {
    catch_up(e);
    return e.object == nullptr || e.blocked == 0;
  }
  void block(element_base& e);
  /// The last reason gone, what was held runs.
  void unblock(element_base& e);
  ///@}

  /// \name Broadcasts
  ///@{
  broadcast_ledger& broadcasts() { return ledger_; }
  /// The number of a broadcast that comes to the elements here now.
  std::uint32_t number_here() { return ++last_here_; }
  /// The elements here that have not heard `id` yet, to which it comes as number `here` of this PE.
  std::vector<element_base*> listeners(const broadcast_id& id, std::uint32_t here);
  void begin_slices(array_broadcast& b);
  void end_slices(array_broadcast& b);
  /// Gives `e` the broadcasts in slices that it has not heard: all, or those numbered below `limit`.
  void catch_up(element_base& e) {
    if (!slices_.empty()) [[unlikely]]
      catch_up(e, last_here_ + 1);
  }
  void catch_up(element_base& e, std::uint32_t limit);
  /// What `e`, which is about to leave, has heard.
  broadcast_history history_of(const element_base& e) const;
  /// What has been begun here, or taken: an element that is inserted from here does not hear it.
  broadcast_history history_here() const;
  /// The new element `e` does not hear `history`, though it comes later.
  void start_hearing(element_base& e, const broadcast_history& history);
  /// `e` came and has heard `history`: what it misses.
  std::vector<broadcast_range> compare_hearing(element_base& e, const broadcast_history& history);
  /// A missed broadcast has come to `e`: whether it is its turn. When it was invoked, `after_missed`.
  bool hear_missed(element_base& e, const broadcast_id& id);
  void after_missed(element_base& e);
  ///@}

  /// Moves element `e`, which lives here, to PE `to`. Throws `usage_error` when it cannot be moved.
  virtual void move(element_base& e, pe_id to) = 0;

  /// Whether the elements that the array was created with are here: broadcasts wait for that.
  bool complete() const { return complete_; }
  void set_complete() { complete_ = true; }

  /// \name Elements that come, go and move
  ///@{
  bool changing() const { return reductions_.is_changing(); }
  /// Tells all PEs, this one at once, that the array changes, if they do not know.
  void announce_change();
  /// The same of numbers of a census (0: of the creation), whether or not they are in force here.
  void announce_change(std::uint32_t wave);
  /// The numbers of this census and earlier ones hold no more.
  void set_changing(std::uint32_t wave);
  census& counting() { return census_; }
  head_count& heads() { return heads_; }
  void count_move() { census_.count_move(); }
  /// Root: called after each.
  void reduction_completed() { census_.reduction_completed(); }
  ///@}

  reducer& reductions() { return reductions_; }

  /// \name Sections
  ///@{
  /// This PE's part; made, not yet announced, when it was not known.
  section_part& add_section(const section_id& s);
  /// The same, or null.
  section_part* find_section(const section_id& s);
  void free_section(const section_id& s);
  bool was_freed(const section_id& s) const;
  /// Home: `e` has ended; the sections that it was a member of go on without it.
  void member_ended(element_base& e, const section_numbers& next);
  ///@}

 private:
  bool passes_over(element_base& e, const broadcast_id& id);
  broadcast_history ahead_of_here(const broadcast_history& history) const;
  void forget_hearing(element_extras& x);

  scheduler& pe_;
  const collection_id id_;
  const char* chare_name_;
  bool complete_ = false;
  bool ever_changed_ = false;
  std::uint32_t last_here_ = 0;
  std::uint32_t unsettled_ = 0;  // broadcasts in slices, reasons why elements are blocked
  std::uint32_t num_ahead_ = 0;  // streams of which elements have heard more than this PE
  std::vector<element_base*> here_;
  std::vector<array_broadcast*> slices_;
  broadcast_ledger ledger_;
  reducer reductions_;
  census census_;
  head_count heads_;
  std::vector<std::pair<section_id, std::unique_ptr<section_part>>> sections_;
  std::vector<section_id> freed_sections_;
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
  /// The same, but `otherwise` for an index that has no home.
  pe_id home_or(const Index& i, pe_id otherwise) const {
    if constexpr (is_grid_index<Index>) {
      if (bounded_ && !inside(i, extent_)) return otherwise;
    }
    const pe_id where = mapped(i);
    return where < 0 || where >= pe().num_pes() ? otherwise : where;
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

/// The part of collection `c` on `pe`, or null.
template <class Index>
array_part<Index>* find_part(scheduler& pe, collection_id c) {
  return static_cast<array_part<Index>*>(pe.find_collection(c));
}

}  // namespace imbrex
