#pragma once

#include <atomic>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

namespace imbrex {

/// The streams of this process's GPUs that wait for a function of the host which their PE has yet to run. While there
/// is one, a call of the driver that waits for a GPU may wait for the very thread that makes it. Any thread.
class cuda_gates {
 public:
  /// One load.
  bool any() const { return num_closed_.load(std::memory_order_relaxed) > 0; }
  /// A stream will wait for a function of this name (of static lifetime). The label lives as long as the stream.
  void close(const void* stream, const char* function, const std::string& label) {
    const std::lock_guard lock(mutex_);
    closed_.push_back({stream, function, &label});
    num_closed_.store(static_cast<int>(closed_.size()), std::memory_order_relaxed);
  }
  /// Its oldest one has been run; or all of a stream's do not matter any more.
  void open(const void* stream) { take_out(stream, false); }
  void open_all(const void* stream) { take_out(stream, true); }
  /// "'pack' in the compute stream of block(1)" of the oldest; empty when there is none.
  std::string first() const {
    const std::lock_guard lock(mutex_);
    return closed_.empty() ? std::string()
                           : fmt::format("'{}' in {}", closed_.front().function, *closed_.front().label);
  }

 private:
  struct gate {
    const void* stream;
    const char* function;
    const std::string* label;
  };
  void take_out(const void* stream, bool all) {
    const std::lock_guard lock(mutex_);
    for (auto at = closed_.begin(); at != closed_.end();) {
      if (at->stream != stream) {
        ++at;
        continue;
      }
      at = closed_.erase(at);
      if (!all) break;
    }
    num_closed_.store(static_cast<int>(closed_.size()), std::memory_order_relaxed);
  }

  mutable std::mutex mutex_;
  std::vector<gate> closed_;
  std::atomic<int> num_closed_{0};
};

}  // namespace imbrex
