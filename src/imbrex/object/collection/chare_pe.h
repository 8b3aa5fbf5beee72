#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "imbrex/pe/scheduler.h"

namespace imbrex {

class collection;
struct element_base;
struct entry_activity;

/// The name under which the main chare's coroutine runs.
inline constexpr char main_chare_name[] = "the main chare";

/// A PE with chares: its part of every collection, what waits for collections that do not exist here yet, and the
/// coroutines of no chare. Every PE of a job is one. For the PE's own thread.
class chare_pe final : public scheduler {
 public:
  chare_pe(rank_context& rank, pe_id id, trace_track* track);
  ~chare_pe() override;

  static chare_pe& of(scheduler& pe) { return static_cast<chare_pe&>(pe); }
  static chare_pe& current() { return of(scheduler::current()); }

  /// What this PE has done for moves: elements that left, and the time that these and those that came took.
  struct cost_of_moves {
    std::uint64_t num = 0;
    std::int64_t ns = 0;
  };
  cost_of_moves move_costs;
  /// How often elements have been asked how large they are (`known_size`); 0: nobody wants to know.
  std::uint32_t sizes_asked = 0;

  /// \name Collections
  ///@{
  collection_id new_collection_id() { return {id(), next_collection_++}; }
  section_id new_section_id() { return {id(), next_section_++}; }
  /// How many of each this PE has named; and that it names none of the first so many, which a job before had.
  std::uint32_t num_collections_named() const { return next_collection_; }
  std::uint32_t num_sections_named() const { return next_section_; }
  std::uint64_t num_singles_before() const { return num_singles_before_; }
  void number_after(std::uint32_t collections, std::uint32_t sections, std::uint64_t singles) {
    next_collection_ = collections;
    next_section_ = sections;
    num_singles_before_ = singles;
  }
  /// The PE of the next singleton that this PE places although no place was given: all in turn, from this one on.
  pe_id next_place_in_turn() {
    const pe_id pe = id() + next_place_ < num_pes() ? id() + next_place_ : id() + next_place_ - num_pes();
    if (++next_place_ == num_pes()) next_place_ = 0;
    return pe;
  }
  void add_collection(std::unique_ptr<collection> c);
  /// This PE's part of a collection, or null when the message that creates it has not arrived yet.
  [[gnu::always_inline]] collection* find_collection(collection_id c) {
    if (c == last_found_.id) [[likely]]
      return last_found_.part;
    return look_up_collection(c);
  }
  /// Keeps a body until collection `c` exists here, then performs it.
  template <class H>
  void hold_for_collection(collection_id c, H&& body);
  /// Whether all elements of an array whose home this is have been made; one that does not exist is.
  bool is_complete(collection_id c) const;
  /// Performs what waited for collection `c`, which is complete now.
  void release_held(collection_id c);
  /// The number of a broadcast to array `c` that begins here now; known here or not yet.
  std::uint32_t number_broadcast(collection_id c, priority p);
  ///@}

  /// The element that is being constructed; taken by `chare_base`.
  element_base* constructing = nullptr;

  entry_activity* first_activity = nullptr;  ///< those of no chare that exist on this PE
  std::uint64_t num_activities = 0;          ///< all on this PE
  std::uint64_t num_reductions_begun = 0;    ///< of all collections here: contributions that wait for others

  std::unique_ptr<pe_part> moves;           ///< `move_requests`, once an element could not move at once
  std::unique_ptr<kept_pe_part> balancing;  ///< `balancer`; null: loads are not balanced
  std::unique_ptr<pe_part> traffic;         ///< `element_traffic`, while it is wanted
  std::unique_ptr<pe_part> checkpointing;   ///< `checkpointer`
  /// Calls `f` with each collection that this PE has a part of.
  void for_each_part(const std::function<void(collection&)>& f) const;

  /// An exception left `method` of `e` (null: the main chare, or the runtime itself): reports it and ends the job.
  void fail_method(const element_base* e, const char* method, std::exception_ptr failure) noexcept;
  /// One left what brings a message for `method` to the element `index`, which may be elsewhere.
  void fail_message(const char* method, const std::string& index, std::exception_ptr failure) noexcept;

  /// \name Messages for elements that do not exist
  ///@{
  void count_held(int difference) { held_messages_ += static_cast<std::uint64_t>(difference); }
  /// Whether those that wait for something that cannot come any more are refused now (see `quiescence_detector`).
  bool refuses_held() const { return refuses_held_; }
  void count_refused() { ++refused_messages_; }
  void refuse_held() override;
  ///@}

 protected:
  void add_counts(pe_counts& c) const override;
  void add_waits(const std::function<void(std::string)>& add) const override;
  void discard_waiting() override;
  void destroy_chares() override;
  void destroy_parts() override;

 private:
  [[gnu::noinline]] collection* look_up_collection(collection_id c);
  /// Made with its first use.
  collection* look_up_singles(collection_id c);
  template <class F>
  void for_each_collection(F f) const;

  using collection_key = std::pair<pe_id, std::uint32_t>;              // creator, number
  std::map<collection_key, std::unique_ptr<collection>> collections_;  // in this order they end, and are reported
  std::vector<std::unique_ptr<collection>> singles_;                   // [class]
  /// Of each that shares a place, the one that was found last.
  struct found {
    collection_id id{no_pe - 1, 0};  // other than that of an empty proxy
    collection* part = nullptr;
  };
  static std::size_t place_among_found(collection_id c) {
    return (static_cast<std::size_t>(c.creator) + c.number) % num_found;
  }
  collection* note_found(collection_id c, collection* part) {
    last_found_ = found_[place_among_found(c)] = {c, part};
    return part;
  }
  static constexpr std::size_t num_found = 8;
  found last_found_;  // a place of its own: to compute one would delay each message
  std::array<found, num_found> found_;
  std::uint32_t next_collection_ = 0;
  std::uint32_t next_section_ = 0;
  std::uint64_t num_singles_before_ = 0;  // numbers of singletons that a job before has used
  pe_id next_place_ = 0;
  struct held {
    collection_id id;
    work* message;
  };
  std::vector<held> held_;
  struct early_broadcasts {
    collection_id array;
    std::uint32_t begun[priority::num_levels] = {};
  };
  std::vector<early_broadcasts> early_broadcasts_;  // begun here before the array was known here
  std::uint64_t held_messages_ = 0;
  std::uint64_t refused_messages_ = 0;
  bool refuses_held_ = false;
};

template <class H>
void chare_pe::hold_for_collection(collection_id c, H&& body) {
  using B = std::remove_cvref_t<H>;
  if constexpr (is_counted<B>()) count_created();  // performed, and counted, a second time
  priority p = priorities::communication;
  if constexpr (requires { body.level; }) p = priority(body.level);
  held_.push_back({c, active_message<B>::make(p, std::forward<H>(body))});
}

}  // namespace imbrex

/// Messages whose arguments name arrays by proxies. A PE hears of a new array along a tree, which a message straight
/// from another PE may overtake: it waits there, so that whoever gets the proxy of a group finds his PE's element.
namespace imbrex::detail {

template <class T>
concept array_naming = requires { requires T::names_array; };

template <class Tuple>
inline constexpr bool names_arrays = false;
template <class... A>
inline constexpr bool names_arrays<std::tuple<A...>> = (array_naming<A> || ...);

/// The first of them that is not complete on `pe`; else one that does not exist.
template <class... A>
collection_id first_to_come(const chare_pe& pe, const std::tuple<A...>& arguments) {
  collection_id first;
  const auto look = [&]<class T>(const T& a) {
    if constexpr (array_naming<T>) {
      if (first == collection_id{} && !pe.is_complete(a.id())) first = a.id();
    }
  };
  std::apply([&](const A&... a) { (look(a), ...); }, arguments);
  return first;
}

/// Throws `usage_error`: this PE has no element of a group of that class.
[[noreturn, gnu::cold]] void refuse_branch(const char* of);

/// Whether `body`, which has these arguments, has been put aside until their arrays are complete.
template <class Body, class Arguments>
bool waits_for_arrays(scheduler& pe, Body& body, const Arguments& arguments) {
  if constexpr (names_arrays<Arguments>) {
    chare_pe& here = chare_pe::of(pe);
    if (const collection_id c = first_to_come(here, arguments); c != collection_id{}) [[unlikely]] {
      here.hold_for_collection(c, std::move(body));
      return true;
    }
  }
  return false;
}

}  // namespace imbrex::detail
