#include "imbrex/virtual_time/gpu/simulated_graph.h"

#include <algorithm>

namespace imbrex {

// ------------------------------------------------------------------------------------------------ capture

const open_capture::member* open_capture::find(const stream& s) const {
  const auto found = std::ranges::find(members_, &s, &member::who);
  return found == members_.end() ? nullptr : &*found;
}

open_capture::member* open_capture::find(const stream& s) { return const_cast<member*>(std::as_const(*this).find(s)); }

void open_capture::add(const stream& s, graph_node node) {
  member& m = *find(s);
  node.after = std::exchange(m.last, {static_cast<std::uint32_t>(nodes_.size())});
  nodes_.push_back(std::move(node));
}

void open_capture::record(const stream& s, std::shared_ptr<const event_state> point) {
  points_.push_back({std::move(point), find(s)->last});
}

bool open_capture::wait(const stream& s, const event_state* point) {
  const auto found = std::ranges::find_if(points_, [point](const recorded& r) { return r.point.get() == point; });
  if (found == points_.end()) return false;
  if (!has(s)) members_.push_back({&s, {}});
  std::vector<std::uint32_t>& last = find(s)->last;
  last.insert(last.end(), found->last.begin(), found->last.end());
  std::ranges::sort(last);
  last.erase(std::ranges::unique(last).begin(), last.end());
  return true;
}

// ------------------------------------------------------------------------------------------------ run

graph_run::graph_run(simulated_cluster& cluster, std::shared_ptr<const std::vector<graph_node>> nodes,
                     std::function<void()> ended)
    : cluster_(cluster),
      nodes_(std::move(nodes)),
      progress_(nodes_->size()),
      num_left_(nodes_->size()),
      ended_(std::move(ended)) {
  for (std::uint32_t i = 0; i < progress_.size(); ++i) {
    progress& p = progress_[i];
    p.of = this;
    p.number = i;
    p.num_before = static_cast<std::uint32_t>((*nodes_)[i].after.size());
    p.ready_at = cluster_.time().now();
    p.ended = [](gpu_engine::customer& c) {
      auto& self = static_cast<progress&>(c);
      self.of->node_has_ended(self.number);
    };
    for (const std::uint32_t before : (*nodes_)[i].after) progress_[before].next.push_back(i);
  }
  for (std::uint32_t i = 0; i < progress_.size(); ++i) {
    if (progress_[i].num_before == 0) begin(i);
  }
}

void graph_run::begin(std::uint32_t number) {
  const std::int64_t begins = progress_[number].ready_at + ns_of_us(cluster_.description().gpu.graph_node_us);
  cluster_.time().call_at(begins, [this, number] {
    const graph_node& n = (*nodes_)[number];
    if (n.bytes == 0) return n.gpu->engine().begin(n.demand, n.urgency, progress_[number]);
    cluster_.time().call_at(cluster_.copied_at(*n.gpu, n.to, n.from, n.bytes),
                            [this, number] { node_has_ended(number); });
  });
}

void graph_run::node_has_ended(std::uint32_t number) {
  const std::int64_t now = cluster_.time().now();
  for (const std::uint32_t next : progress_[number].next) {
    const bool is_other = (*nodes_)[next].gpu != (*nodes_)[number].gpu;
    progress& p = progress_[next];
    p.ready_at = std::max(p.ready_at, now + (is_other ? ns_of_us(cluster_.description().gpu.peer_event_us) : 0));
    if (--p.num_before == 0) begin(next);
  }
  if (--num_left_ > 0) return;
  const std::function<void()> ended = std::move(ended_);  // which may end this
  ended();
}

}  // namespace imbrex
