#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "imbrex/device/graph.h"
#include "imbrex/hetero/task_node.h"

namespace imbrex {

struct recorded_window;

/// A window on one device: which of its tasks goes into which stream, and for which others it waits there. Found once;
/// a replay enqueues, or starts a graph. For the PE of its domain.
class device_window {
 public:
  /// For a device with so many streams for kernels. The window outlives this.
  device_window(const recorded_window& w, std::size_t num_lines);

  /// Enqueues all tasks on the device, from the point where `order` is to one where all of them are over, with the
  /// memory that their objects have there now. From the second time with the same memory on as a graph, where the
  /// device can make one and the tasks allow it. Gives the task that threw, which is then the last one; else null.
  task_node* run(place& at, stream& order);

  /// Whether the last run was a graph's, for tests and reports.
  bool was_graph() const { return was_graph_; }

 private:
  struct step {
    task_node* task = nullptr;
    std::uint32_t line = 0;
    bool awaited = false;              ///< by a step of another line
    std::vector<std::uint32_t> waits;  ///< steps of other lines, one of each at most
  };

  void order_steps(const recorded_window& w);
  void place_step(std::uint32_t number, const std::vector<std::uint32_t>& after);
  std::uint32_t choose_line(const std::vector<std::uint32_t>& after) const;

  bool has_moved(place& at);
  std::unique_ptr<graph> capture(place& at, stream& order);
  task_node* enqueue(place& at, stream& order);

  const recorded_window& window_;
  std::vector<step> steps_;
  std::vector<std::uint32_t> last_of_line_;        // number of the step + 1; while steps are ordered
  std::vector<std::vector<std::uint32_t>> known_;  // by line: up to where it has waited for each other; likewise
  std::vector<const std::byte*> memory_;           // of the objects, in the last run
  std::unique_ptr<graph> graph_;
  bool can_be_graph_ = true;
  bool was_graph_ = false;
};

}  // namespace imbrex
