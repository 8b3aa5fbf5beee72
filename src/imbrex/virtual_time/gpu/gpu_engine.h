#pragma once

#include <cstdint>
#include <deque>
#include <vector>

#include "imbrex/device/stream.h"
#include "imbrex/virtual_time/core/simulation.h"
#include "imbrex/virtual_time/gpu/kernel_model.h"

namespace imbrex {

/// The computing part of one GPU. Kernels of several streams run at once and share it: those of urgent streams get what
/// they can use first, the others what is left, in proportion to what they could use. At most so many at a time.
/// What a kernel of long blocks has it keeps until they have ended (`kernel_demand::round_ns`), whoever comes.
class gpu_engine : private timed_event {
 public:
  gpu_engine(simulation& all, std::size_t most_at_once) : all_(all), most_at_once_(most_at_once) {
    happen = [](timed_event& e) { static_cast<gpu_engine&>(e).look(); };
  }

  /// Who is told when a kernel has ended.
  struct customer {
    void (*ended)(customer&) = nullptr;
  };
  /// A kernel whose turn in its stream has come.
  void begin(const kernel_demand& d, stream_priority urgency, customer& who);

  /// Nanoseconds in which at least one kernel ran, up to now.
  std::int64_t busy_ns() const { return busy_ns_; }

 private:
  struct running {
    double left;   // nanoseconds with the whole GPU; of long blocks: GPUs full of them that have not begun
    double share;  // that it can use
    double rate;   // that it has
    stream_priority urgency;
    customer* who;
    double round_ns;  // of long blocks; else 0
    int num_batches = 0;
  };
  /// Long blocks that began together.
  struct batch {
    std::int64_t until;
    double share;
    customer* who;
  };
  void pass_time();
  void share_out();
  double give_rates(stream_priority p, double free, double least);
  double begin_batches(stream_priority p, double free);
  void look_at(std::int64_t first);
  std::int64_t next_end() const;
  void end_batches();
  void look();

  simulation& all_;
  const std::size_t most_at_once_;
  std::vector<running> running_;
  std::vector<batch> batches_;
  std::deque<running> waiting_;
  std::int64_t since_ = 0;  // the rates hold
  std::int64_t next_at_ = -1;
  int num_looks_due_ = 0;
  std::int64_t busy_ns_ = 0;
};

}  // namespace imbrex
