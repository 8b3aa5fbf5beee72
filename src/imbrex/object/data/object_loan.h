#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "imbrex/hetero/tasks/open_task.h"
#include "imbrex/object/data/object_desk.h"

namespace imbrex::detail {

/// So that it is told of a task by a piece of work of this PE.
inline void prepare(waiter& told, void (*act)(work*, work_action)) {
  told.home = executor::current();
  told.act = act;
  told.set_priority(priorities::communication);
}

/// An object's data, lent until all shares are back and nothing reads them any more.
struct object_desk::loan : waiter {
  object_desk* desk = nullptr;
  std::uint64_t number = 0;
  open_task* reading = nullptr;
  hetero_task kept;
  std::uint64_t weight_out = loan_share::whole;
  int num_leaving = 0;  ///< copies that the transport, or a device, still reads
  bool told = false;
  std::optional<object_of_graph> for_graph;
  std::vector<loan_request> asked;
};

}  // namespace imbrex::detail
