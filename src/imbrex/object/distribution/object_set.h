#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "imbrex/base/ids.h"
#include "imbrex/hetero/hetero_data.h"
#include "imbrex/object/distribution/holders.h"

namespace imbrex {
class task_graph;
}

namespace imbrex::detail {

class object_set;

/// What tasks have reduced into an object and is not in it yet: on each rank apart.
class graph_reduction {
 public:
  graph_reduction() = default;
  graph_reduction(const graph_reduction&) = delete;
  graph_reduction& operator=(const graph_reduction&) = delete;
  virtual ~graph_reduction() = default;

  /// Ends it: all ranks submit tasks of that priority that bring it into the object.
  virtual void close(int priority) = 0;
};

/// What every rank knows of one object of a graph: the same everywhere, besides `here`, as far as tasks have been
/// submitted.
struct shared_object {
  static constexpr std::uint32_t never = 0xffff'ffff;

  object_set* set = nullptr;
  std::uint32_t index = 0;     ///< in the set
  rank_id owner = 0;           ///< who always has the newest data, or will
  std::uint32_t version = 0;   ///< tasks submitted that write it, and changes of its owner since the first
  std::uint32_t here = never;  ///< of another rank's: the version that this rank keeps, or expects
  holders others;              ///< that have this version, or will
  std::unique_ptr<graph_reduction> reducing;  ///< null: nobody has, since it was last used otherwise
};

/// The objects that a graph knows by one number, and their handles on this rank.
class object_set {
 public:
  object_set() = default;
  object_set(const object_set&) = delete;
  object_set& operator=(const object_set&) = delete;
  virtual ~object_set() = default;

  /// The object on this rank, made now if it is the first time.
  virtual hetero_data& here(std::size_t i) = 0;
  /// Elements of it.
  virtual std::size_t size_of(std::size_t i) const = 0;
  /// An object of another rank: gives this rank's handle up. What uses it goes on.
  virtual void give_up(std::size_t i) = 0;

  task_graph* graph = nullptr;
  std::uint32_t number = 0;
};

}  // namespace imbrex::detail
