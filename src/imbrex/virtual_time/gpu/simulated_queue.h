#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "imbrex/async/executor.h"
#include "imbrex/device/stream_operation.h"
#include "imbrex/trace/trace.h"
#include "imbrex/virtual_time/gpu/gpu_engine.h"
#include "imbrex/virtual_time/gpu/simulated_cluster.h"
#include "imbrex/virtual_time/gpu/simulated_graph.h"

namespace imbrex {

struct simulated_point;

/// What a stream's operations are to the device: they begin one after the other, in virtual time, and each takes what
/// it takes. Functions for the host are handed to the PE. Lives on without its stream until nothing of it is under way.
class simulated_queue final : private timed_event, private gpu_engine::customer {
 public:
  simulated_queue(simulated_cluster& cluster, simulated_gpu& gpu, executor& pe, stream_priority urgency);

  /// One operation, from its place in the stream on.
  struct step {
    enum class kind { kernel, copy, fill, gate, notice, record, wait, graph };
    step* next = nullptr;
    kind what = kind::kernel;
    const char* name = "";
    std::int64_t ready_at = 0;              ///< the device does not know of it before
    kernel_demand demand;                   ///< `kernel`, `fill`
    stream_operation* operation = nullptr;  ///< what the host runs: `gate`, `notice`, and in place of a kernel
    void* to = nullptr;                     ///< `copy`, `fill`
    const void* from = nullptr;
    std::size_t bytes = 0;
    unsigned char value = 0;
    std::shared_ptr<simulated_point> point;                ///< `record`, `wait`
    std::shared_ptr<const std::vector<graph_node>> nodes;  ///< `graph`
  };
  static step* make_step(step::kind what, const char* name);
  static void free_step(step* s) noexcept;

  /// Takes ownership. On the PE's turn.
  void put(step* s);
  bool idle() const { return first_ == nullptr && !under_way_ && num_functions_ == 0; }
  /// The stream has ended: what can be done of the rest is done at once, and what is for the host is dropped.
  void abandon();
  /// It is another PE's, and perhaps another GPU's; idle.
  void move_to(executor& pe, simulated_gpu& gpu);
  /// The point it waited for is complete.
  void go_on();

  void trace_to(trace_track* t) { track_ = t; }

 private:
  struct turn : work {
    simulated_queue* of = nullptr;
  };

  void advance();
  void begin(step& s);
  void begin_kernel(const kernel_demand& d, std::int64_t more_ns);
  void begin_copy(step& s);
  void begin_graph(step& s);
  void step_has_ended();
  void step_is_over();
  void do_effects(step& s);
  void complete(simulated_point& p);
  std::int64_t knows_at(const simulated_point& p) const;
  void reach(stream_operation* op, bool is_gate, std::int64_t when);
  void no_longer_awaited();
  void run_functions();
  std::int64_t notice_ns() const;
  void becomes_busy();
  void may_be_idle();
  void may_end();

  simulated_cluster& cluster_;
  simulated_gpu* gpu_;
  executor* pe_;
  const actor* owner_ = nullptr;
  const stream_priority urgency_;
  step* first_ = nullptr;
  step* last_ = nullptr;
  bool under_way_ = false;  // the first one: its end will be told
  bool look_is_due_ = false;
  bool is_busy_ = false;  // counted among the PE's operations
  bool is_abandoned_ = false;
  int num_due_ = 0;  // events that name this
  std::unique_ptr<graph_run> graph_;
  std::int64_t began_at_ = 0;
  kernel_demand waiting_demand_;
  simulated_point* blocked_at_ = nullptr;

  struct function {
    stream_operation* operation;
    bool is_gate;
  };
  std::vector<function> functions_;  // that the PE runs with its next turn here
  int num_functions_ = 0;            // reached, and not run yet
  turn* turn_;
  bool turn_is_queued_ = false;
  trace_track* track_ = nullptr;
};

}  // namespace imbrex
