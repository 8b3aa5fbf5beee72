#pragma once

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "imbrex/async/activity.h"
#include "imbrex/async/actor.h"
#include "imbrex/base/ids.h"
#include "imbrex/device/stream_set.h"
#include "imbrex/object/collection/broadcast_ledger.h"
#include "imbrex/object/collection/head_count.h"
#include "imbrex/object/collection/section.h"
#include "imbrex/object/entry/index.h"
#include "imbrex/object/state/state_size.h"

namespace imbrex {

class collection;
class scheduler;
struct entry_activity;
class port_table;
struct element_base;

/// What every chare is to the runtime. Users derive from `chare`.
class chare_base {
 public:
  chare_base(const chare_base&) = delete;
  chare_base& operator=(const chare_base&) = delete;
  virtual ~chare_base() = default;
  /// What reports call its class, if not its name in C++ (entry/shown_name.h); null: that.
  virtual const char* own_name() const { return nullptr; }

 protected:
  /// Only while the runtime constructs an element; else throws `usage_error`.
  chare_base();

  friend struct chare_access;
  element_base* element_;
  std::unique_ptr<stream_set> streams_;  // made with the first use

 private:
  std::size_t alignment_ = 0;  // of the most derived class
};

namespace detail {
/// Frees what `allocate_object` gave for a class of this alignment.
void free_object_memory(void* memory, std::size_t alignment);
/// Throws `usage_error`: code on another PE than the element's has called what only its own may.
[[noreturn, gnu::cold]] void refuse_pe_of_caller(const element_base& e, const scheduler& caller);
}  // namespace detail

/// For the runtime's own classes.
struct chare_access {
  static element_base& element(chare_base& c) { return *c.element_; }
  static void set_element(chare_base& c, element_base& e) { c.element_ = &e; }
  static void set_alignment(chare_base& c, std::size_t alignment) { c.alignment_ = alignment; }
  /// Destroys the most derived object and frees its memory.
  static void destroy(chare_base* c);
  /// Its own streams; null when it has used none.
  static stream_set* streams(chare_base& c) { return c.streams_.get(); }
};

/// Where an element stands, as one PE knows it.
enum class presence {
  unborn,     ///< not here; at its home: nobody has created it yet
  here,       ///< the object lives on this PE
  elsewhere,  ///< last known on PE `where`
  deleted,    ///< it was here, or this is its home, and it has been deleted
  awaited,    ///< a restart is bringing its state to this PE
};

/// What few elements have. Once made it stays as long as the element's record.
struct element_extras {
  actor_ties* ties = nullptr;    ///< what binds or follows it while it lives here; made with the first use
  work* wish_to_move = nullptr;  ///< what moves it, and waits until that can be done
  bool wish_is_tried = false;    ///< it is in the PE's queue, and will be done or wait again
  bool pinned = false;           ///< never to be moved
  known_size size;
  bool sends_copies = false;   ///< is to cross processes, which it can when memory that it has lent is back
  work* held_first = nullptr;  ///< messages that wait for the element to exist, oldest first
  work* held_last = nullptr;
  section_numbers section_reductions;           ///< next reduction per section it contributed to
  std::unique_ptr<port_table> ports;            ///< ends of channels, made with the first
  std::unique_ptr<element_hearing> hearing;     ///< while it has heard other broadcasts than its PE
  std::vector<shared_call> pending_broadcasts;  ///< heard once it is not blocked any more
  std::vector<std::unique_ptr<early_contribution>> early_contributions;  ///< made before it was counted in
  std::shared_ptr<void> graphs_of_rounds;  ///< that it led (`repeat`), kept for the next time while it lives here

  element_extras();
  ~element_extras();
};

/// What one PE knows of one element: the object if it lives here, where to send messages if not. Never moves in
/// memory and lives as long as the collection. Large arrays have many: with an index of four bytes it takes 64.
struct element_base : actor {
  chare_base* object = nullptr;  ///< not null exactly when state is `here`
  collection* part = nullptr;
  entry_activity* activities = nullptr;
  std::uint64_t epoch = 0;  ///< which insertion made it, and its moves since: newer knowledge wins
  std::unique_ptr<element_extras> extras;
  pe_id where = no_pe;               ///< where messages go when it is not here
  std::uint32_t next_reduction = 0;  ///< of the array, while it lives here
  std::uint32_t position = 0;        ///< in the PE's list of local elements
  std::uint32_t heard = 0;           ///< of the broadcasts on this PE, the number of the last one
  presence state : 8 = presence::unborn;
  bool counted = true;       ///< the array's root knows of it
  std::uint8_t blocked = 0;  ///< for how many reasons its messages are held although it is here

  element_extras& more() {
    if (!extras) extras = std::make_unique<element_extras>();
    return *extras;
  }
  port_table& ports();
  actor_ties& ties();

  element_base() = default;
  element_base(const element_base&) = delete;
  element_base& operator=(const element_base&) = delete;
};

/// The same with its index.
template <class Index>
struct element : element_base {
  explicit element(const Index& i) : index(i) {}
  const Index index;
};

static_assert(sizeof(void*) != 8 || sizeof(element<index1d>) <= 64, "see docs/design/0010");

}  // namespace imbrex
