#pragma once

#include <cstdint>
#include <string>

namespace imbrex {

class cost_store;

/// How a PE's objects and tasks are looked after.
struct hetero_options {
  std::uint64_t device_bytes =
      0;                  ///< of each device, for copies; 0: nine tenths of what is free, shared with other PEs
  int sharing = 1;        ///< PEs that use the same devices
  int compute_lanes = 5;  ///< streams for kernels, of each device
  int urgent_lanes = 2;   ///< more of them, of high priority, for tasks more urgent than others that are under way
  int host_tasks_at_hand = 64;  ///< that are put where other PEs may take them
  int tasks_under_way = 64;     ///< that a device is given before some have finished
  std::uint64_t large_copy_bytes =
      1 << 20;  ///< a task whose data are so large takes no stream before they have come from the host
  std::string policy = "locality";  ///< of `make_placement_policy`
  cost_store* costs = nullptr;      ///< for a policy that learns; outlives the domain; null: it begins with nothing
  std::string disk{};  ///< a folder: what is beyond `host_bytes` on the host lies in a file there; empty: all in memory
  std::uint64_t host_bytes = 0;  ///< with `disk`; 0: half of what is free, shared with other PEs

  /// \name What makes transfers and allocations fast, to be switched off by who measures what each is worth (4.1)
  ///@{
  bool pinned_host_copies = true;  ///< copies on the host lie in page-locked memory, if there is a GPU
  bool pooled_memory = true;       ///< copies at devices come from a pool, where the device has another way
  bool transfer_lanes = true;      ///< streams for copies, apart from those for kernels
  ///@}
};

}  // namespace imbrex
