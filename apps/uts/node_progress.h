#pragma once

#include <chrono>
#include <cstdint>

namespace uts {

/// A progress line on stderr: only where that is a terminal, rewritten at most ten times a second, wiped at the end.
/// `update` costs a comparison, and one clock read in 65536 nodes. One thread at a time.
class node_progress {
 public:
  /// `expected_nodes` 0: nobody knows how many there are. `shown` false makes all calls do nothing.
  node_progress(std::int64_t expected_nodes, bool shown);
  ~node_progress() { finish(); }
  node_progress(const node_progress&) = delete;
  node_progress& operator=(const node_progress&) = delete;

  /// A search begins.
  void begin() { next_nodes_ = 0; }
  /// So many nodes of it have been visited.
  void update(std::int64_t nodes) {
    if (nodes >= next_nodes_ && shown_) [[unlikely]]
      look(nodes);
  }
  /// Wipes the line. Later updates do nothing.
  void finish();

 private:
  using clock = std::chrono::steady_clock;
  void look(std::int64_t nodes);
  void draw(std::int64_t nodes, double elapsed);

  const std::int64_t expected_;
  bool shown_;
  bool drawn_ = false;
  std::int64_t next_nodes_ = 0;
  const clock::time_point start_ = clock::now();
  clock::time_point next_ = start_;
};

}  // namespace uts
