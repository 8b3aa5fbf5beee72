#pragma once

#include <cstdint>
#include <optional>

#include "imbrex/device/buffer.h"
#include "imbrex/hetero/tasks/open_task.h"
#include "imbrex/object/data/object_desk.h"
#include "imbrex/pe/reply.h"

namespace imbrex::detail {

/// Data on their way into an object. First one learns where they are; only then is there memory for them, so that what
/// has memory waits for nobody's tasks, and several PEs that are short of it cannot wait for each other.
struct object_desk::arrival : waiter {
  object_desk* desk = nullptr;
  std::uint64_t number = 0;
  open_task* writing = nullptr;
  hetero_task kept;
  reply_to reply;
  std::optional<object_parcel> parcel;  ///< none: it is not granted yet
  std::optional<loan_answer> answer;
  object_failure why_not;
  buffer<std::byte> staged;  ///< on the way to a device that does not reach where they are
  std::optional<object_of_graph> from_graph;
  bool let_go = false;
  bool told = false;
  bool under_way = false;  ///< the transport, or a device, writes

  bool knows_source() const { return !why_not.kind.empty() || answer || (parcel && parcel->is_packed()); }
  /// The data, if they have come along; else null.
  const object_parcel* packed() const {
    if (parcel && parcel->is_packed()) return &*parcel;
    return answer && answer->packed.is_packed() ? &answer->packed : nullptr;
  }
};

}  // namespace imbrex::detail
