#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "imbrex/device/graph.h"
#include "imbrex/virtual_time/gpu/gpu_engine.h"
#include "imbrex/virtual_time/gpu/simulated_cluster.h"

namespace imbrex {

/// One operation of a graph, and which it comes after: by their streams, and by the events that these waited for.
struct graph_node {
  kernel_demand demand = {};
  simulated_gpu* gpu = nullptr;
  stream_priority urgency = stream_priority::low;
  const void* from = nullptr;  ///< of a copy that is not within one GPU
  void* to = nullptr;
  std::size_t bytes = 0;  ///< 0: a kernel, or a pass over memory
  std::vector<std::uint32_t> after = {};
};

/// What streams of one or several GPUs were given while they were captured.
class simulated_graph final : public graph {
 public:
  explicit simulated_graph(std::vector<graph_node> nodes) { set(std::move(nodes)); }
  void set(std::vector<graph_node> nodes) {
    nodes_ = std::make_shared<const std::vector<graph_node>>(std::move(nodes));
  }
  std::size_t num_operations() const override { return nodes_->size(); }
  const std::shared_ptr<const std::vector<graph_node>>& nodes() const { return nodes_; }

 private:
  std::shared_ptr<const std::vector<graph_node>> nodes_;
};

/// A capture under way: who is in it are the stream that began it, and those that waited for a point of one.
class open_capture {
 public:
  explicit open_capture(const stream& first) { members_.push_back({&first, {}}); }
  bool has(const stream& s) const { return find(s) != nullptr; }
  void add(const stream& s, graph_node node);
  /// A point of a member.
  void record(const stream& s, std::shared_ptr<const event_state> point);
  /// Whether it is a point of this capture: then `s` is in it from now on, and goes on behind that.
  bool wait(const stream& s, const event_state* point);
  std::vector<graph_node> take() { return std::move(nodes_); }

 private:
  struct member {
    const stream* who;
    std::vector<std::uint32_t> last;  // what its next node comes after
  };
  struct recorded {
    std::shared_ptr<const event_state> point;
    std::vector<std::uint32_t> last;
  };
  const member* find(const stream& s) const;
  member* find(const stream& s);

  std::vector<graph_node> nodes_;
  std::vector<member> members_;
  std::vector<recorded> points_;
};

/// A graph that runs: each node begins when those before it have ended, `graph_node_us` later, and on the GPU that it
/// was captured for. A node behind one of another GPU learns of its end by way of memory.
class graph_run {
 public:
  /// From now on; `ended` is called once. This has to stay until then.
  graph_run(simulated_cluster& cluster, std::shared_ptr<const std::vector<graph_node>> nodes,
            std::function<void()> ended);
  graph_run(const graph_run&) = delete;
  graph_run& operator=(const graph_run&) = delete;

 private:
  struct progress : gpu_engine::customer {
    graph_run* of = nullptr;
    std::uint32_t number = 0;
    std::uint32_t num_before = 0;  // that have not ended
    std::int64_t ready_at = 0;
    std::vector<std::uint32_t> next;
  };
  void begin(std::uint32_t number);
  void node_has_ended(std::uint32_t number);

  simulated_cluster& cluster_;
  const std::shared_ptr<const std::vector<graph_node>> nodes_;
  std::vector<progress> progress_;
  std::size_t num_left_;
  std::function<void()> ended_;
};

}  // namespace imbrex
