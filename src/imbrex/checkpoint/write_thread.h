#pragma once

#include <condition_variable>
#include <cstddef>
#include <exception>
#include <mutex>
#include <span>
#include <thread>

#include "imbrex/checkpoint/disk_file.h"

namespace imbrex {

/// Writes to a file on a thread of its own, which has all cores of the process, while the owner goes on: one piece at a
/// time, in the order of `put`. After a failure it writes nothing more. All calls: the owner's thread.
class write_thread {
 public:
  /// `file` outlives this and is not touched by others meanwhile.
  explicit write_thread(disk_file& file);
  /// Waits for the piece that is being written; its failure is lost, see `drain`.
  ~write_thread();
  write_thread(const write_thread&) = delete;
  write_thread& operator=(const write_thread&) = delete;

  /// Blocks until the piece before is written. `bytes` stay as they are until the next `put` or `drain` has returned.
  void put(std::span<const std::byte> bytes);
  /// Blocks until all is written; throws what the writing threw.
  void drain();

 private:
  void run();

  disk_file& file_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::span<const std::byte> pending_;
  bool ends_ = false;
  std::exception_ptr failure_;
  std::thread thread_;
};

}  // namespace imbrex
