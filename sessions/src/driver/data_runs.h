// Which bytes of a buffer are data: pieces of equal size and distance, several of them for irregular types.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace imbrex::sessions {

struct data_run {
  std::int64_t offset = 0;  ///< of the first piece
  std::size_t bytes = 0;    ///< of each
  std::size_t pieces = 1;
  std::int64_t stride = 0;  ///< from piece to piece, more than their bytes; 0 of a single one

  /// From the first byte to behind the last.
  std::size_t span() const { return (pieces - 1) * static_cast<std::size_t>(stride) + bytes; }
};

/// A set of bytes; what order they were added in is not kept.
class data_runs {
 public:
  /// Of any stride, also negative or less than the bytes. Joined with what was added last where that gives one run.
  void add(data_run r);

  /// `count` times the bytes of `one`, at `offset` and every `stride` from there.
  void add_repeated(const data_runs& one, std::int64_t offset, std::int64_t count, std::int64_t stride);

  /// Sorts by offset and joins what can be.
  void tidy();

  const std::vector<data_run>& all() const { return runs_; }

 private:
  bool join_last(const data_run& r);
  void add_run_repeated(const data_run& r, std::int64_t count, std::int64_t stride);

  std::vector<data_run> runs_;
};

}  // namespace imbrex::sessions
