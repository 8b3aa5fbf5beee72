#include "imbrex/checkpoint/write_thread.h"

#include <utility>

#include "imbrex/base/topology.h"

namespace imbrex {

write_thread::write_thread(disk_file& file) : file_(file), thread_([this] { run(); }) {}

write_thread::~write_thread() {
  {
    const std::scoped_lock lock(mutex_);
    ends_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

void write_thread::put(std::span<const std::byte> bytes) {
  {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return pending_.empty(); });
    pending_ = bytes;
  }
  changed_.notify_all();
}

void write_thread::drain() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return pending_.empty(); });
  if (failure_) std::rethrow_exception(std::exchange(failure_, nullptr));
}

void write_thread::run() {
  unpin_this_thread();
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait(lock, [this] { return ends_ || !pending_.empty(); });
    if (pending_.empty()) return;
    if (!failure_) {
      lock.unlock();
      std::exception_ptr failure;
      try {
        file_.write(pending_);
      } catch (...) {
        failure = std::current_exception();
      }
      lock.lock();
      failure_ = std::move(failure);
    }
    pending_ = {};
    changed_.notify_all();
  }
}

}  // namespace imbrex
