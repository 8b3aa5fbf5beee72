#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "imbrex/hetero/coherence/missing_data.h"
#include "imbrex/hetero/coherence/place.h"
#include "imbrex/hetero/coherence/slices.h"
#include "imbrex/hetero/hetero_data.h"
#include "imbrex/hetero/hetero_options.h"
#include "imbrex/hetero/task_node.h"

namespace imbrex {

/// What was moved, and why.
struct hetero_counts {
  std::uint64_t tasks = 0;             ///< that are over, failed ones too
  std::uint64_t bytes_to_devices = 0;  ///< from the host
  std::uint64_t bytes_to_host = 0;
  std::uint64_t bytes_between = 0;  ///< from device to device
  std::uint64_t evictions = 0;      ///< copies that made room for others

  std::uint64_t bytes_moved() const { return bytes_to_devices + bytes_to_host + bytes_between; }
};

/// The copies of all objects of a domain, at all its places: coherent, and no more than fit (Thomadakis and
/// Chrisochoides 2024, 3.1.1). Everything is enqueued; nothing blocks. For the domain's PE.
class hetero_copies {
 public:
  hetero_copies(device& host, const std::vector<device*>& devices, const hetero_options& options,
                void (*on_progress)(void*), void* argument);

  const std::vector<std::unique_ptr<place>>& places() const { return places_; }
  place& host() const { return *places_[0]; }
  const hetero_counts& counts() const { return counts_; }
  hetero_counts& counts() { return counts_; }
  /// Without the host in between: both are devices.
  bool reads_from(const place& p, const place& q) const {
    return reaches_[static_cast<std::size_t>(p.number()) * places_.size() + static_cast<std::size_t>(q.number())];
  }
  /// Objects and slices that exist.
  std::uint64_t num_objects() const { return num_objects_.load(std::memory_order_relaxed); }

  hetero_data* make(hetero_domain& domain, std::uint64_t bytes);
  /// One whose data are there: in this memory, which stays the program's.
  hetero_data* make_over(hetero_domain& domain, std::byte* memory, std::uint64_t bytes);
  /// Bytes of an object, or of what it is a slice of, as an object; the range is inside. No reference is counted.
  hetero_data* slice(hetero_data& of, std::uint64_t offset, std::uint64_t bytes, std::size_t element_bytes);
  /// The same of an object that has rows of so many bytes, and planes of so many rows: a box, as `of` counts.
  hetero_data* tile(hetero_data& of, box where, std::uint64_t row_bytes, std::uint64_t num_rows,
                    std::size_t element_bytes);
  /// The last one frees the copies as soon as nothing reads or writes them.
  void release(hetero_data* d);
  /// The newest data go to the host, and the copies at devices that nobody uses are freed.
  void evict(hetero_data& d);

  enum class outcome {
    done,
    later,    ///< some points have to be reached first: `pending()`
    no_room,  ///< nothing was done: memory is held by what is under way
    never,    ///< nothing is under way, and still there is no room
  };
  /// Memory for all objects of a task at once, at its place or places; they stay until `unpin`.
  outcome pin(task_node& t, place& p);
  /// Which of its places had no room.
  place& full() const { return *full_; }
  void unpin(task_node& t);
  /// What a task reads where it is placed comes there: what is enqueued on a lane that waits for the copies' `written`
  /// sees it.
  outcome bring(task_node& t);
  /// Points that the host has to wait for, because no lane can, before `bring` can go on.
  std::vector<lane_point>& pending() { return pending_; }

  /// Calls `f` for the points that must be reached before a task on the host uses an object.
  template <class F>
  void for_each_point_on_host(const task_access& a, F f) const {
    for_each_in_same_memory(*a.data, a.data->at(0), [&](hetero_copy& c) {
      f(c.written);
      if (writes(a.mode)) c.reads.for_each(f);
    });
  }
  /// Waits of a lane for all that must be over before a task uses its objects there.
  static void order(task_node& t, lane& l);
  /// What a task that reads it at a place would need to have brought.
  missing_data missing(hetero_data& d, const place& p) const;
  /// A task has begun whose use ends later: what it overwrites is worth nothing elsewhere from now on, so that nobody
  /// saves the old data, least of all to where it writes.
  static void begun(task_node& t);
  /// The task's use of its objects ends at `end`, or has ended.
  void used(task_node& t, const lane_point& end);

 private:
  struct retired;
  struct retired_wait;

  void destroy(hetero_data* d);
  /// On the host a slice lies in the memory of the whole.
  static bool lies_in_whole(const hetero_copy& c) {
    return c.place == 0 && c.of->family != nullptr && c.of != c.of->family->whole;
  }
  /// Calls `f` for `c`, a copy that has the bytes of `d`, and for all others in whose memory these bytes lie.
  template <class F>
  void for_each_in_same_memory(hetero_data& d, hetero_copy& c, F f) const {
    f(c);
    if (d.family == nullptr) [[likely]]
      return;
    if (c.place != 0 || places_.size() == 1) return;
    if (&c != &d.at(0)) f(d.at(0));
    d.family->for_each_overlapping(d, [&](hetero_data& e) {
      if (&e != c.of) f(e.at(0));
    });
  }
  bool bring_to(hetero_data& d, place& p) { return p.is_host() ? bring_to_host(d) : bring_to_device(d, p); }
  bool bring_to_device(hetero_data& d, place& p);
  bool bring_to_host(hetero_data& d);
  bool follow(lane& l, hetero_data& d, hetero_copy& from, hetero_copy& to);
  void copy(lane& l, hetero_copy& from, hetero_copy& to, bool between_devices);
  void note_copied(lane& l, hetero_copy& from, hetero_copy& to, std::uint64_t bytes, bool between_devices);
  hetero_copy* newest_device_copy(hetero_data& d, const place& p) const;
  void find_out_what_reaches();

  /// \name Objects with slices (slice_copies.cc)
  ///@{
  /// What a member's copy at a place does not have comes there.
  hetero_data* part(slice_family& f, const box& where);
  bool bring_member(hetero_data& d, place& p);
  bool take_from(hetero_data& source, const place& from, hetero_data& d, place& p, region& missing);
  bool bring_to_host(hetero_data& d, const region& bytes);
  bool copy_piece(const box& piece, hetero_data& source, const place& from, hetero_data& target, const place& to);
  int closeness(const place& from, const place& to) const;
  /// What only this copy has comes to the host.
  bool save(hetero_copy& c);
  void bury_dead(slice_family& f);
  bool bury(hetero_data& s);
  ///@}

  static hetero_copy& copy_of(task_node& t, const task_access& a);
  bool take_room(task_node& t, place& p);
  bool allocate(hetero_copy& c, place& p);
  bool make_room(place& p, std::uint64_t bytes);
  hetero_copy* victim(const place& p) const;
  bool evict(place& p, hetero_copy& c);
  bool valid_elsewhere(const hetero_copy& c) const;
  static void own(hetero_data& d, const place& p);
  void drop(hetero_copy& c);
  void touch(hetero_copy& c);
  void unlink(hetero_copy& c);

  std::vector<std::unique_ptr<place>> places_;
  std::vector<bool> reaches_;            // by two places: the first reads the other's memory; not of the host
  std::vector<std::uint64_t> retiring_;  // by place: bytes that will be free without anybody doing anything
  std::vector<lane_point> pending_;
  place* full_ = nullptr;
  hetero_counts counts_;
  std::atomic<std::uint64_t> num_objects_{0};  // tasks that run on other PEs make objects, too
};

}  // namespace imbrex
