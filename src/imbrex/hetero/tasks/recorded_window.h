#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "imbrex/hetero/task_node.h"
#include "imbrex/hetero/tasks/device_window.h"

namespace imbrex {

/// What a `task_window` refers to. Counted references: of handles and of replays under way. For the domain's PE.
struct recorded_window {
  explicit recorded_window(hetero_domain& d);
  ~recorded_window();
  recorded_window(const recorded_window&) = delete;

  struct use {
    hetero_data* data;
    access_mode mode;
  };

  hetero_domain* domain;
  std::uint32_t references = 1;
  bool in_order = true;               ///< all of its tasks run on the host, and only there
  std::vector<const place*> devices;  ///< on which all of its tasks could run
  bool is_connected = false;          ///< by what its tasks write, and `after`: one graph
  const place* last_at = nullptr;     ///< the device of the last replay as a whole
  std::map<const place*, std::unique_ptr<device_window>> on_devices;  ///< where it has been replayed as a whole
  std::vector<task_node*> tasks;                               ///< never submitted; `age` is the position, from 1
  std::vector<use> uses;                                       ///< each object once: what the window does with it
  std::vector<std::pair<std::uint64_t, std::uint64_t>> after;  ///< by `age`: a task, and one that it waits for

  /// Takes over a node with its accesses.
  void keep(task_node& t, bool only_on_host);
  /// Once, when all are there.
  void sum_up();
  std::uint64_t bytes() const;
  /// Whether a replay runs all of its tasks on one of `devices`.
  bool as_a_whole() const { return !in_order && (devices.size() == 1 || (!devices.empty() && is_connected)); }
  /// The one that has most of its data, and has least to do; among equals, where it was last.
  const place& choose_device() const;
  void release() {
    if (--references == 0) delete this;
  }
};

}  // namespace imbrex
