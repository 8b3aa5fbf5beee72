#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "imbrex/balance/balance_problem.h"
#include "imbrex/balance/strategies/least_tree.h"

namespace imbrex::detail {

/// What all PEs and GPUs have to do while elements are put on them and taken away, and where one would be done first.
/// The problem outlives it.
class load_board {
 public:
  /// Nothing but what no move takes away.
  explicit load_board(const balance_problem& p) : load_board(p, {}) {}
  /// And these elements: a PE for each; -1 for one that is nowhere.
  load_board(const balance_problem& p, std::span<const int> placement);

  double pe_time(int pe) const { return pes_[static_cast<std::size_t>(pe)].time; }
  double gpu_time(int gpu) const { return gpus_[static_cast<std::size_t>(gpu)].time; }
  /// Of all PEs and GPUs.
  double longest_time() const;

  void add(const balance_element& e, int pe) { change(e, pe, 1); }
  void remove(const balance_element& e, int pe) { change(e, pe, -1); }

  /// Whether the PE has the GPU it needs, with room.
  bool fits(const balance_element& e, int pe) const;
  /// The time of that PE or of its GPU, whichever is longer, with it.
  double end(const balance_element& e, int pe) const {
    const pe_state& s = pes_[static_cast<std::size_t>(pe)];
    const double host = s.time + e.host_seconds * s.seconds_per_work;
    if (!e.needs_gpu()) return host;
    const gpu_state& g = gpus_[static_cast<std::size_t>(s.gpu)];
    return std::max(host, g.time + e.gpu_seconds * g.seconds_per_work);
  }
  /// The PE where `end` is least among those that fit; -1: none does. Exact for elements without a GPU and up to 32
  /// different rates; with more, PEs of about the same rate are one, and the one with least to do stands for them, as
  /// does the PE with least to do for all that share a GPU.
  int earliest(const balance_element& e) const;

 private:
  struct pe_state {
    double time = 0;
    double seconds_per_work = 1;
    int gpu = no_gpu;
    int kind = 0;  // which of `of_pes_`
    int slot = 0;  // and where there
    int slot_at_gpu = 0;
  };
  struct gpu_state {
    double time = 0;
    double seconds_per_work = 1;
    std::uint64_t room = 0;
    int kind = 0;  // which of `of_gpus_`
    int slot = 0;
    std::vector<int> pes;
    least_tree of_pes;  // by time
  };
  /// PEs, or GPUs, of one rate.
  struct rate_kind {
    std::vector<int> members;
    least_tree by_time;
  };
  static constexpr std::size_t most_kinds = 32;
  static std::vector<int> kinds_of(const std::vector<double>& rates);

  void take_pes(const balance_problem& p);
  void take_gpus(const balance_problem& p);
  void change(const balance_element& e, int pe, int sign);
  void note_pe(int pe);
  void note_gpu(int gpu);
  int earliest_on_gpus(const balance_element& e) const;

  std::vector<pe_state> pes_;
  std::vector<gpu_state> gpus_;
  std::vector<rate_kind> of_pes_;
  std::vector<rate_kind> of_gpus_;  // those that PEs use; by the longer of their time and their least busy PE's
};

}  // namespace imbrex::detail
