#pragma once

#include <array>
#include <memory>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "imbrex/object/collection/broadcast_ledger.h"
#include "imbrex/object/collection/broadcast_slices.h"
#include "imbrex/object/collection/census.h"
#include "imbrex/object/collection/chare_pe.h"
#include "imbrex/object/collection/element.h"
#include "imbrex/object/collection/head_count.h"
#include "imbrex/object/collection/reducer.h"
#include "imbrex/object/collection/section.h"
#include "imbrex/object/entry/index.h"
#include "imbrex/object/entry/map.h"
#include "imbrex/object/state/saved_part.h"

namespace imbrex {

/// This PE's part of a chare array, group or singleton: the elements that live here and what is known of others.
class collection : public saved_part {
 public:
  collection(chare_pe& pe, collection_id id, const char* chare_name);
  virtual ~collection();
  collection(const collection&) = delete;
  collection& operator=(const collection&) = delete;

  chare_pe& pe() const { return pe_; }
  collection_id id() const { return id_; }
  /// The PE that created the collection: where its reductions end.
  pe_id root() const { return pe_.standing_for(id_.creator); }
  const char* chare_name() const { return chare_name_; }
  const std::vector<element_base*>& here() const { return here_; }
  /// "block(1, 2, 3)".
  std::string text(const element_base& e) const { return name_of(e) + index_text(e); }
  /// What its class is called.
  virtual const char* name_of(const element_base&) const { return chare_name_; }
  /// "(1, 2, 3)"; empty of a singleton.
  virtual std::string index_text(const element_base& e) const = 0;
  /// The numbers of its index, and how many they are: 0 of an index that is none of 1 to 3 numbers. Allocates nothing.
  virtual int index_numbers(const element_base& e, std::array<std::int32_t, 3>& numbers) const = 0;
  /// Calls `f` for every element this PE knows of.
  virtual void for_each_known(const std::function<void(element_base&)>& f) const = 0;

  /// `object` lives here from now on as `e`; what was held for it becomes runnable.
  void becomes_present(element_base& e, chare_base* object);
  /// `e` lives here no more; its object and waiting coroutines are destroyed.
  void becomes_absent(element_base& e, presence becomes, pe_id where);
  /// \name An element that goes to another PE of the process as it is: object, coroutines and ends of channels
  ///@{
  /// `e` lives here no more, but on PE `where`; what it is made of goes to `travelling`.
  void gives_up(element_base& e, pe_id where, element_base& travelling);
  /// It lives here from now on as `e`.
  void takes_over(element_base& e, element_base& travelling);
  /// It is destroyed on its way, since the job ends.
  static void destroy(scheduler& pe, element_base& travelling);
  ///@}
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
  bool calm() const { return num_unheard_or_blocked_ == 0; }
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
  /// Whether a broadcast that came before `b` has not been heard by all yet.
  bool in_slices_before(const array_broadcast& b) const { return !slices_.empty() && slices_.front() != &b; }
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
  /// Sends broadcast `id` to an element that left this PE and has not heard it.
  virtual void send_missed(const element_base& to, const broadcast_id& id, const shared_call& call) = 0;
  ///@}

  /// Moves element `e`, which lives here, to PE `to`: it is serialised. Throws `usage_error` when it cannot be moved.
  virtual void move(element_base& e, pe_id to) = 0;
  /// Has `e`, which lives here, moved to PE `to` as soon as that can be done, as `chare::migrate_to` does.
  virtual void wish_to_move(element_base& e, pe_id to) = 0;
  /// Where `e` is in the box of the array, each coordinate between 0 and 1, and how many coordinates there are; 0 for
  /// an element whose index is no place in a box.
  virtual int place_of(const element_base& e, std::array<double, 3>& place) const = 0;
  /// What `e`, which lives here, takes along when it goes to another process; nothing where its class cannot be
  /// serialised.
  virtual state_size size_of(element_base& e) const = 0;
  /// Whether the class of the elements can be serialised.
  virtual bool is_serialized() const = 0;
  /// Whether its elements stay where they are, as a group's do.
  virtual bool stays() const { return false; }
  /// Whether the coroutine `a` is of those that are ended at a move point and called again in another process.
  virtual bool is_restartable(const entry_activity& a) const = 0;
  /// Moves `e`, which nothing binds to this PE, to PE `to` of this process: handed over as it is.
  virtual void hand_over(element_base& e, pe_id to) = 0;

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
  /// Somebody at or below this PE, in the tree of PE 0, has found that: all are told, by PE 0.
  void pass_on_change(std::uint32_t wave);
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
  /// Why a reduction of a section that was freed is not awaited any more.
  std::string text_of_freed() const;
  /// `e`, which lives here, contributes to `s` for the first time: its home looks whether it is a member. Throws
  /// `usage_error` when it is not, here or there.
  void begin_contributing(const section_id& s, element_base& e);
  /// Home: the same, of an element that lives here or elsewhere.
  void check_member(const section_id& s, element_base& e);
  /// Home: `s` has been announced, to those who have contributed already.
  void check_claims(section_part& s);
  /// Home: all is quiet, so that sections that have not been announced here have no members here.
  void refuse_claims();
  static std::string text_of_non_member(const element_base& e);
  /// Home: `e` has ended; the sections that it was a member of go on without it.
  void member_ended(element_base& e, const section_numbers& next);
  ///@}

  /// \name Checkpoints (checkpoint/live), once all is quiet
  ///@{
  /// What is on its way all the same and would be lost; empty: nothing.
  std::string what_is_under_way() const;
  /// Calls `f` for each section that this PE knows.
  void for_each_section(const std::function<void(const section_id&, const section_part&)>& f) const;
  const std::vector<section_id>& freed_sections() const { return freed_sections_; }
  /// All elements of a restored array are there: `below` in the subtree of this PE, `in_all`; not all of them at home.
  void has_come_back(std::uint64_t below, std::uint64_t in_all, bool not_at_home);
  /// Homes that this job does not have, since it has fewer PEs than the one that was saved, are others instead.
  void fold_homes() { folds_homes_ = true; }
  ///@}

 protected:
  /// Of singletons: nobody is told how many there are.
  void has_no_reductions() { has_reductions_ = false; }
  bool folds_homes() const { return folds_homes_; }

 private:
  chare_base* leave_list(element_base& e, presence becomes, pe_id where);
  void has_left(element_base& e);
  static void bind(element_base& travelling, element_base& to);
  bool passes_over(element_base& e, const broadcast_id& id);
  broadcast_history ahead_of_here(const broadcast_history& history) const;
  void forget_hearing(element_extras& x);

  chare_pe& pe_;
  const collection_id id_;
  const char* chare_name_;
  bool complete_ = false;
  bool ever_changed_ = false;
  std::uint32_t change_passed_on_ = 0;  // of all waves below this one
  bool has_reductions_ = true;
  bool folds_homes_ = false;
  std::uint32_t last_here_ = 0;
  std::uint32_t num_unheard_or_blocked_ = 0;  // broadcasts in slices, reasons why elements are blocked
  std::uint32_t num_ahead_ = 0;               // streams of which elements have heard more than this PE
  std::vector<element_base*> here_;
  std::vector<array_broadcast*> slices_;
  broadcast_ledger ledger_;
  reducer reductions_;
  census census_;
  head_count heads_;
  std::vector<std::pair<section_id, std::unique_ptr<section_part>>> sections_;
  std::vector<section_id> freed_sections_;
};

inline bool array_broadcast::is_first() const { return !part_.in_slices_before(*this); }

inline bool array_broadcast::is_turn_of(element_base& e, bool first) {
  if (e.object == nullptr || static_cast<std::int32_t>(number_ - e.heard) <= 0) return false;
  if (!first) [[unlikely]]
    catch_up(e);
  e.heard = number_;
  return true;
}

}  // namespace imbrex
