// The mode kinds: on which communicators, windows and files buffers of which kind of memory travel, in which direction.
#pragma once

#include <cstdint>

#include "base/memory_kind.h"

namespace imbrex::sessions {

enum class direction : std::uint8_t { sent, received, both };
constexpr int num_directions = 3;

const char* name_of(direction way);

struct usage_cell {
  std::uint64_t checks = 0;
  std::uint64_t bytes = 0;
  std::uint64_t injected = 0;
  double query_ns = 0;  ///< of those injected
};

/// Of one communicator, or of all windows, or all files. Sent as bytes between processes of one job.
struct usage_row {
  char where[64] = "";
  std::uint8_t declared = 0;  ///< a declaration, packed
  usage_cell cells[num_directions][num_memory_kinds] = {};
};

constexpr int max_usage_rows = 128;

/// Writes what the object of a handle is called; asked under the lock, when the handle is met first.
using write_name = void (*)(std::uintptr_t handle, char* text, unsigned long size);

/// Adds a buffer to the row of `handle`. Any thread; takes a lock.
void add_usage(std::uintptr_t handle, write_name name, std::uint8_t declared, direction way, memory_kind kind,
               const usage_cell& seen);

/// The handle is about to be freed: who is given it next is another one.
void forget_usage_of(std::uintptr_t handle);

/// This rank's rows, at most max_usage_rows of them.
int collect_usage(usage_row* rows);

/// Adds each of `rows` to the one of `merged` with its name, or behind them. `merged` has room for `room`, the last of
/// which takes what does not fit; gives how many there are.
int merge_usage(const usage_row* rows, int num_rows, usage_row* merged, int num_merged, int room);

}  // namespace imbrex::sessions
