#pragma once

#include <array>
#include <cstdint>
#include <exception>
#include <vector>

#include "imbrex/hetero/access_mode.h"
#include "imbrex/hetero/lane.h"

namespace imbrex {

class hetero_domain;
struct hetero_data;
struct slice_family;
struct family_member;
class open_reduction;
struct task_node;
struct task_access;

/// Points in few lanes, the latest of each: who still reads a copy.
class lane_points {
 public:
  void add(const lane_point& p) {
    if (p.of == nullptr) return;
    lane_point* free = nullptr;
    for (lane_point& q : few_) {
      if (q.of == p.of) {
        q.number = p.number > q.number ? p.number : q.number;
        return;
      }
      if (q.reached()) free = &q;
    }
    if (free != nullptr) {
      *free = p;
    } else {
      add_more(p);
    }
  }
  void clear() {
    few_ = {};
    more_.clear();
  }
  template <class F>
  void for_each(F f) const {
    for (const lane_point& p : few_) {
      if (!p.reached()) f(p);
    }
    for (const lane_point& p : more_) {
      if (!p.reached()) f(p);
    }
  }
  bool reached() const {
    bool all = true;
    for_each([&](const lane_point&) { all = false; });
    return all;
  }

 private:
  void add_more(const lane_point& p) {
    for (lane_point& q : more_) {
      if (q.of == p.of || q.reached()) {
        q = q.of == p.of && q.number > p.number ? q : p;
        return;
      }
    }
    more_.push_back(p);
  }
  std::array<lane_point, 3> few_{};
  std::vector<lane_point> more_;
};

/// An object's data at one place.
struct hetero_copy {
  hetero_data* of = nullptr;
  std::byte* memory = nullptr;  ///< null: none is allocated
  coherence state : 8 = coherence::invalid;
  std::uint16_t place = 0;
  std::uint32_t pins = 0;        ///< tasks and views that use it: it stays
  lane_point written;            ///< when it is complete
  lane_points reads;             ///< when it may be written or freed
  hetero_copy* older = nullptr;  ///< of its place, by use
  hetero_copy* newer = nullptr;
};

/// Of an object that tasks commute on.
struct commuting_uses {
  task_access* first = nullptr;        ///< of the last that were submitted one behind the other, if not all are over
  task_node* has_turn = nullptr;       ///< who has the object
  task_node* first_waiting = nullptr;  ///< for a turn, by `next`: the more urgent first, equals as they came
  task_node* last_waiting = nullptr;
};

/// What a `hetero_object` refers to: the copies of some bytes, and who will use them in which order. From the slab,
/// counted references; for the domain's PE.
struct hetero_data {
  hetero_domain* domain = nullptr;
  std::uint64_t bytes = 0;
  std::uint32_t references = 0;
  std::uint16_t num_places = 0;
  bool defined = false;   ///< somebody has written, or will have
  bool borrowed = false;  ///< on the host the data lie in memory of the program's

  /// \name Submitted uses that later ones have to wait for, in order of submission
  ///@{
  task_access* first_use = nullptr;
  task_access* last_use = nullptr;
  task_access* last_write = nullptr;  ///< the last of these that writes
  ///@}
  std::uint64_t written_by = 0;         ///< the age of the last task submitted that writes it; for traces
  std::exception_ptr failure;           ///< of whoever should have written the data: so they are worth nothing
  open_reduction* reducing = nullptr;   ///< what tasks have added up that is not in the data yet
  commuting_uses* commuting = nullptr;  ///< made with the first task that commutes

  slice_family* family = nullptr;   ///< of an object that has been sliced, and of its slices
  family_member* member = nullptr;  ///< of the same
  std::uint64_t offset = 0;         ///< of a slice: of its first byte, in the whole's memory
  std::uint32_t handles = 0;        ///< `hetero_object`s, of `references`
  std::uint32_t of_tasks = 0;       ///< submitted and not over, of `references`
  std::uint32_t element_bytes = 1;  ///< of a slice's elements, for reports

  hetero_data* stands_for = nullptr;  ///< of what a task on another PE took for a slice: the slice, which it holds

  hetero_data* itself() { return stands_for != nullptr ? stands_for : this; }
  hetero_copy* copies() { return reinterpret_cast<hetero_copy*>(this + 1); }
  hetero_copy& at(int place) { return copies()[place]; }
};

}  // namespace imbrex
