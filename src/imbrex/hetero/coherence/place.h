#pragma once

#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <string>
#include <vector>

#include "imbrex/device/device.h"
#include "imbrex/hetero/coherence/file_memory.h"
#include "imbrex/hetero/coherence/incoming_link.h"
#include "imbrex/hetero/coherence/priority_count.h"
#include "imbrex/hetero/hetero_options.h"
#include "imbrex/hetero/lane.h"

namespace imbrex {

struct hetero_copy;

/// Where copies of objects live and tasks run: the host (always number 0), or a device.
class place {
 public:
  /// Of the host: tasks run on the PE, and copies lie in memory of `d` of kind `pinned`, if it is a GPU, which copies
  /// them fastest; or, beyond `options.host_bytes`, in a file in `options.disk`.
  place(device& memory_of, const hetero_options& options);
  /// Of a device: copies take up to `capacity` bytes of its memory. Lanes are numbered from `first_lane`: as many as
  /// `max_lanes` says, or fewer.
  place(int number, device& d, std::uint64_t capacity, const hetero_options& options, bool has_peers, int first_lane);
  static int max_lanes(const hetero_options& options) { return options.compute_lanes + options.urgent_lanes + 3; }

  int number() const { return number_; }
  bool is_host() const { return number_ == 0; }
  device& on() const { return *device_; }
  device_kind kind() const { return is_host() ? device_kind::host : device_->kind(); }
  std::string name() const;

  /// \name Of a device: its lanes. What comes from the host, what leaves, what comes from other devices (which waits
  /// for them, and so must not stand in the way of what comes from the host), what computes. Without `transfer_lanes`
  /// the first of those that compute is all of them.
  ///@{
  lane& in() { return in_ != nullptr ? *in_ : *compute_.front(); }
  lane& from_peers() { return from_peers_ != nullptr ? *from_peers_ : in(); }
  lane& in_from(const place& source) { return source.is_host() || &source == this ? in() : from_peers(); }
  lane& out() { return out_ != nullptr ? *out_ : *compute_.front(); }
  std::vector<std::unique_ptr<lane>>& compute() { return compute_; }
  std::size_t num_compute_lanes() const { return compute_.size(); }
  /// Those of high priority, for tasks that may overtake others; made when the first is asked for.
  std::vector<std::unique_ptr<lane>>& urgent() { return urgent_; }
  /// One of these; or one of the others, if it could begin there sooner.
  lane& next_urgent();
  /// The compute lane with least under way, the next one in turn among equals.
  lane& next_compute();
  /// What all lanes call after progress.
  void on_progress(void (*f)(void*), void* argument);
  void flush();
  bool idle() const;
  /// Whether copies have lanes of their own.
  bool has_transfer_lanes() const { return in_ != nullptr; }
  /// What brings copies from the host, or from other devices.
  const incoming_link& link_from_host() const { return from_host_; }
  const incoming_link& link_from_peers() const { return from_other_devices_; }
  incoming_link& link_from(const place& source) { return source.is_host() ? from_host_ : from_other_devices_; }
  template <class F>
  void for_each_lane(F f) {
    if (is_host()) return;
    if (in_ != nullptr) f(*in_), f(*out_);
    if (from_peers_ != nullptr) f(*from_peers_);
    for (auto& l : compute_) f(*l);
    for (auto& l : urgent_) f(*l);
  }
  ///@}

  std::uint64_t capacity() const { return capacity_; }
  std::uint64_t used() const { return used_; }
  /// Of the host: besides.
  std::uint64_t bytes_on_disk() const { return disk_ != nullptr ? disk_->bytes_in_use() : 0; }
  /// Memory for a copy; null when it would not fit, or the device has none.
  std::byte* allocate(std::uint64_t bytes);
  void free(std::byte* memory, std::uint64_t bytes);

  /// Copies here that have memory, least recently used first.
  hetero_copy* oldest = nullptr;
  hetero_copy* newest = nullptr;
  /// A task waits for room here: what becomes free is for it.
  bool pressed = false;
  /// Tasks issued here that have not finished.
  std::uint64_t num_tasks_under_way = 0;
  priority_count priorities_under_way;
  /// Tasks that will be issued here when their data have come.
  std::uint64_t num_tasks_fetching = 0;
  std::uint64_t num_tasks() const { return num_tasks_under_way + num_tasks_fetching; }
  /// When the last of these ended, for policies that learn.
  std::int64_t last_end_ns = 0;

 private:
  std::unique_ptr<lane> make_lane(stream_priority p, const char* what, bool keeps_points);
  static lane& next_of(std::vector<std::unique_ptr<lane>>& lanes, std::size_t& turn);

  const int number_;
  device* const device_;
  const std::uint64_t capacity_;
  const bool pooled_;
  std::uint64_t used_ = 0;
  std::uint64_t before_disk_ = 0;
  std::unique_ptr<file_memory> disk_;  // null: none, which most have
  std::unique_ptr<lane> in_, out_, from_peers_;
  incoming_link from_host_, from_other_devices_;
  std::vector<std::unique_ptr<lane>> compute_, urgent_;
  const int num_urgent_ = 0;
  int next_lane_ = 0;  // its number
  std::size_t turn_ = 0, urgent_turn_ = 0;
  void (*progress_)(void*) = nullptr;
  void* progress_argument_ = nullptr;
};

}  // namespace imbrex
