#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "imbrex/async/work.h"
#include "imbrex/base/ids.h"
#include "imbrex/object/entry/broadcast_call.h"

/// Which broadcasts to one array a PE has taken, so that every element hears each of them exactly once and in order,
/// wherever it moves, and so that no later message of the same sender overtakes one.
///
/// The broadcasts that one PE begins with one priority are a *stream* and are numbered from 1; every PE takes those of
/// a stream in order, and its elements with it. An element that moves takes along how many of each stream it has heard.
/// Where it arrives it may be *ahead* of that PE (which then passes over it) or *miss* some, which are on their way to
/// the PE that it left: that PE keeps copies from the departure on, until it is told which are missed, and sends those.
namespace imbrex {

class collection;
class scheduler;
struct element_base;

/// One broadcast to an array.
struct broadcast_id {
  std::uint32_t stream = 0;
  std::uint32_t number = 0;
  friend bool operator==(const broadcast_id&, const broadcast_id&) = default;

  static std::uint32_t stream_of(pe_id origin, int level) {
    return static_cast<std::uint32_t>(origin) * priority::num_levels +
           static_cast<std::uint32_t>(level - priority::most_urgent);
  }
  template <class Archive>
  void serialize(Archive& ar) {
    ar & stream & number;
  }
};

/// How many broadcasts of some streams have been heard, by a PE or an element: at most one entry a stream.
using broadcast_history = std::vector<broadcast_id>;

/// Broadcasts of one stream, from `first` to `last`.
struct broadcast_range {
  std::uint32_t stream = 0;
  std::uint32_t first = 0;
  std::uint32_t last = 0;
  template <class Archive>
  void serialize(Archive& ar) {
    ar & stream & first & last;
  }
};

/// What an element that came from another PE has heard otherwise than its present PE.
struct element_hearing {
  broadcast_history ahead;               ///< of these streams it has heard so many already
  std::vector<broadcast_range> missing;  ///< these are being sent after it, in this order within a stream
  std::vector<work*> early;              ///< copies that came before their turn

  bool misses_any() const { return !missing.empty(); }
  bool empty() const { return ahead.empty() && missing.empty(); }
};

/// One PE's ledger of one array. For the PE's thread.
class broadcast_ledger {
 public:
  /// \name Of broadcasts that begin on this PE
  ///@{
  /// Numbers one more broadcast of this level.
  std::uint32_t begin(int level) { return ++begun_[place_of(level)]; }
  std::uint32_t num_begun(int level) const { return begun_[place_of(level)]; }
  /// Goes on from what was numbered before this ledger was made.
  void continue_from(const std::uint32_t (&begun)[priority::num_levels]);
  ///@}

  /// Whether `id` has been taken here.
  bool has_taken(const broadcast_id& id) const { return num_taken(id.stream) >= id.number; }
  /// Whether `id` is the next of its stream.
  bool is_next(const broadcast_id& id) const { return num_taken(id.stream) + 1 == id.number; }
  void take(const broadcast_id& id);
  /// How many have been taken, of each stream.
  const broadcast_history& taken() const { return taken_; }

  /// \name Elements that left
  ///@{
  /// From now on broadcasts are kept, until `complete_departure` for the number returned.
  std::uint64_t begin_departure();
  /// The element of departure `number`, which is `e` as this PE knows it, misses these: sends it those that were taken
  /// since, and the others when they are taken.
  void complete_departure(collection& array, std::uint64_t number, const element_base& e,
                          const std::vector<broadcast_range>& missing);
  /// Whether copies of what is taken next are needed.
  bool keeps() const { return !departures_.empty() || !owed_.empty(); }
  /// `id` has been taken: keeps it and sends it to those that wait for it.
  void keep(collection& array, const broadcast_id& id, const shared_call& call);
  ///@}

  /// \name Work that waits until a broadcast has been taken here
  ///@{
  void wait(const broadcast_id& id, work* w) { waiting_.push_back({id, w}); }
  /// What may go on, in the order in which it came.
  std::vector<work*> take_waiting();
  bool any_waiting() const { return !waiting_.empty(); }
  ///@}

  /// Gives back the memory of what waits; at the end of the job.
  void discard();

 private:
  static std::size_t place_of(int level) { return static_cast<std::size_t>(level - priority::most_urgent); }
  std::uint32_t num_taken(std::uint32_t stream) const {
    for (const broadcast_id& h : taken_) {
      if (h.stream == stream) return h.number;
    }
    return 0;
  }
  void forget_unneeded();

  struct kept {
    broadcast_id id;
    shared_call call;
  };
  struct debt {
    const element_base* to;
    broadcast_range which;
  };
  struct waiting_work {
    broadcast_id id;
    work* item;
  };

  std::uint32_t begun_[priority::num_levels] = {};
  broadcast_history taken_;
  std::deque<kept> kept_;
  std::uint64_t first_kept_ = 0;                       // the how-manieth kept_[0] is of all that were kept
  std::map<std::uint64_t, std::uint64_t> departures_;  // number -> which kept broadcast came first after it
  std::uint64_t last_departure_ = 0;
  std::vector<debt> owed_;
  std::vector<waiting_work> waiting_;
};

}  // namespace imbrex
