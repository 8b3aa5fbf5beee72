// The parts of a partitioned message: where their data lies, and which of a received one the program has already.
#pragma once

#include <atomic>
#include <vector>

#include "driver/data_runs.h"

namespace imbrex::sessions {

/// Any thread may take any part.
class buffer_parts {
 public:
  /// The data of each, from the buffer's first byte. All are the program's until begin().
  explicit buffer_parts(std::vector<std::vector<data_run>> data);

  int size() const { return static_cast<int>(data_.size()); }
  bool has(int part) const { return part >= 0 && part < size(); }
  const std::vector<data_run>& data_of(int part) const { return data_[static_cast<std::size_t>(part)]; }

  /// A turn begins: none is the program's.
  void begin();
  /// Whether some were taken in this turn.
  bool any_taken() const { return any_taken_.load(std::memory_order_acquire); }
  /// True for the first that asks in a turn, who must give() it when it is copied; the others wait for that.
  bool take(int part);
  void give(int part);

 private:
  enum class state : unsigned char { expected, taken, given };

  std::vector<std::vector<data_run>> data_;
  std::vector<std::atomic<state>> states_;
  std::atomic<bool> any_taken_{true};
};

}  // namespace imbrex::sessions
