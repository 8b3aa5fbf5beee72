#pragma once

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "imbrex/async/activity.h"
#include "imbrex/base/ids.h"
#include "imbrex/device/stream_set.h"
#include "imbrex/object/index.h"
#include "imbrex/object/reducer.h"

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
  /// Destroys the most derived object and frees its memory.
  virtual void destroy_object() = 0;

 protected:
  /// Only while the runtime constructs an element; else throws `usage_error`.
  chare_base();

  friend struct chare_access;
  element_base* element_;
  std::unique_ptr<stream_set> streams_;  // made with the first use
};

/// For the runtime's own classes.
struct chare_access {
  static element_base& element(chare_base& c) { return *c.element_; }
  /// Its own streams; null when it has used none.
  static stream_set* streams(chare_base& c) { return c.streams_.get(); }
};

/// Where an element stands, as one PE knows it.
enum class presence : std::uint8_t {
  unborn,     ///< not here; at its home: nobody has created it yet
  here,       ///< the object lives on this PE
  elsewhere,  ///< last known on PE `where`
  deleted,    ///< it was here, or this is its home, and it has been deleted
};

/// What few elements have.
struct element_extras {
  work* held_first = nullptr;  ///< messages that wait for the element to exist, oldest first
  work* held_last = nullptr;
  std::vector<std::pair<section_id, std::uint32_t>>
      section_reductions;             ///< next reduction per section it contributed to
  std::unique_ptr<port_table> ports;  ///< ends of channels, made with the first

  element_extras();
  ~element_extras();
};

/// What one PE knows of one element: the object if it lives here, where to send messages if not. Never moves in
/// memory and lives as long as the collection.
struct element_base {
  chare_base* object = nullptr;  ///< not null exactly when state is `here`
  collection* part = nullptr;
  entry_activity* activities = nullptr;
  std::uint64_t epoch = 0;           ///< which insertion made it, and its moves since: newer knowledge wins
  pe_id where = no_pe;               ///< where messages go when it is not here
  std::uint32_t next_reduction = 0;  ///< of the array, while it lives here
  std::uint32_t position = 0;        ///< in the PE's list of local elements
  presence state = presence::unborn;
  std::unique_ptr<element_extras> extras;

  element_extras& more() {
    if (!extras) extras = std::make_unique<element_extras>();
    return *extras;
  }
  port_table& ports();

  element_base() = default;
  element_base(const element_base&) = delete;
  element_base& operator=(const element_base&) = delete;
};

template <class Index>
struct element : element_base {
  explicit element(const Index& i) : index(i) {}
  const Index index;
};

}  // namespace imbrex
