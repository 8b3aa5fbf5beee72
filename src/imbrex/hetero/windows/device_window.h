#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "imbrex/device/graph.h"
#include "imbrex/hetero/task_node.h"

namespace imbrex {

struct recorded_window;

/// A window on devices: which of its tasks runs on which of them and goes into which stream there, for which others it
/// waits, and what is copied from device to device in between. Found once; a replay enqueues, or starts a graph. For
/// the PE of its domain.
///
/// An object that the window changes has its place on the device that changes it last. Other devices that use it have a
/// copy of the window's own, into which it is copied when it has changed.
class device_window {
 public:
  /// By task: its device, one of `devices`, which are of one kind and reach each other. The window outlives this.
  device_window(const recorded_window& w, std::vector<place*> devices, const std::vector<std::uint8_t>& device_of);
  ~device_window();
  device_window(const device_window&) = delete;

  /// What a replay uses, as a task would, and where: copies of the window's own, too.
  struct placed_use {
    hetero_data* data = nullptr;
    access_mode mode = access_mode::read;
  };
  std::span<const placed_use> uses() const { return uses_; }
  std::span<place* const> places() const { return places_; }
  std::size_t num_devices() const { return devices_.size(); }
  /// The device in whose streams a replay begins and ends.
  const place& first() const { return *devices_.front(); }
  /// Whether all of it could be on its devices at once.
  bool fits() const;

  /// Enqueues all tasks on the devices, from the point where `order`, of the first one, is, to one where all of them
  /// are over, with the memory that their objects have there now. From the second time with the same memory on as a
  /// graph, where the devices can make one and the tasks allow it. Gives the task that threw, which is then the last
  /// one; else null.
  task_node* run(stream& order);

  /// Whether the last run was a graph's, for tests and reports.
  bool was_graph() const { return was_graph_; }

 private:
  static constexpr std::uint32_t nobody = UINT32_MAX;
  /// A task, or a copy.
  struct step {
    task_node* task = nullptr;
    std::vector<std::uint32_t> arguments;  ///< by access, where it is in `uses_`; of a copy: to where, and from where
    std::uint8_t device = 0;
    std::uint32_t line = 0;
    bool awaited = false;              ///< by a step of another line
    std::vector<std::uint32_t> waits;  ///< steps of other lines, one of each at most
  };
  /// A stream, of a device.
  struct line {
    std::uint8_t device = 0;
    bool copies = false;
    std::uint32_t last = 0;            ///< its last step so far + 1; while steps are ordered
    std::vector<std::uint32_t> known;  ///< by line: up to where it has waited for each other; likewise
  };
  class step_order;

  void make_lines();
  void add(step s, const std::vector<std::uint32_t>& after);
  std::uint32_t choose_line(const step& s, const std::vector<std::uint32_t>& after) const;

  bool has_moved();
  std::unique_ptr<graph> capture(stream& order);
  task_node* enqueue(stream& order);
  std::vector<stream*> streams(stream& order) const;
  void enqueue(const step& s, stream& on);
  std::byte* memory_of(std::uint32_t use) const;

  const recorded_window& window_;
  const std::vector<place*> devices_;
  std::vector<placed_use> uses_;
  std::vector<place*> places_;     // by use
  std::vector<hetero_data*> own_;  // copies: one reference each
  std::vector<step> steps_;
  std::vector<line> lines_;
  std::vector<const std::byte*> memory_;  // by use, in the last run
  std::unique_ptr<graph> graph_;
  bool can_be_graph_ = true;
  bool was_graph_ = false;
};

}  // namespace imbrex
