#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "imbrex/balance/balance_options.h"
#include "imbrex/balance/live/balance_summary.h"
#include "imbrex/balance/live/element_loads.h"
#include "imbrex/balance/live/live_plan.h"
#include "imbrex/balance/live/load_history.h"
#include "imbrex/balance/live/patience.h"
#include "imbrex/balance/live/pe_rates.h"
#include "imbrex/object/collection/reducer.h"
#include "imbrex/object/load/element_times.h"
#include "imbrex/pe/tree_sum.h"

namespace imbrex {

class balance_record_writer;

/// One PE's part of balancing a job while it runs. Every PE times its elements, and from time to time a sample of what
/// they have GPUs do. A round: PE 0 asks, all PEs tell what their elements have cost since the last round, up the
/// spanning tree; PE 0 has the strategy make a plan and, if that pays, tells the PEs which elements go where; those go
/// as soon as they can, as with `chare::migrate_to`. Nothing stops meanwhile. Rounds are begun by elements that call
/// `balance`, and, at most that often, each interval in which elements run. For the PE's thread.
class balancer final : public kept_pe_part, actor_observer {
 public:
  balancer(chare_pe& pe, const balance_options& options, const pe_shape& shape);
  ~balancer() override;
  /// The one of `pe`, or null.
  static balancer* of(scheduler& pe);

  /// Once, when the devices of the PE are there: the first sample of what they do begins.
  void sees_devices();
  /// What elements have cost so far, and what came of plans: PE 0 has it in checkpoints.
  std::vector<std::byte> to_keep() override;
  void take_kept(std::span<const std::byte> kept) override;
  const balance_summary& summary() const { return summary_; }

  /// \name PE 0
  ///@{
  /// A round begins, or does once the one that runs is over; `and_then`, if any, is told when the elements are told to
  /// move: an allreduce that waits for that, at its root.
  void begin_round(std::vector<std::pair<pe_id, reduction_id>> and_then);
  /// The same, if round `last` was the last one.
  void begin_round_after(std::uint32_t last) {
    if (round_ == last && !running_) begin_round({});
  }
  ///@}

  /// \name What messages bring
  ///@{
  void measure(std::uint32_t round);
  void add(element_loads&& below);
  void carry_out(std::uint32_t round, const std::vector<std::pair<std::uint32_t, pe_id>>& moves);
  void carried_out();
  ///@}

 private:
  void run_changes(const actor* from, const actor* to, std::int64_t now) override;
  void has_left(const actor&) override {}
  void pass_on();
  void decide(element_loads&& loads);
  void tell_of_failure(const std::string& what);
  /// Why no plan is to be carried out yet, for the log; else null. `busiest`: its seconds in the interval.
  const char* why_too_early(double busiest, const element_loads& loads);
  std::size_t send_orders(const balance_plan& plan, const element_loads& loads);
  void end_round();

  chare_pe& pe_;
  const balance_options options_;
  const pe_shape shape_;
  const pe_rates rates_;
  double speed_ = 0;  // measured with the first round; 0: not yet
  element_times times_;
  std::unique_ptr<balance_strategy> strategy_;  // used on PE 0
  bool counts_exchanges_ = false, uses_places_ = false;
  std::unique_ptr<balance_record_writer> record_;
  std::int64_t last_ns_ = 0;      // when it was measured last here, or that was asked for
  std::int64_t measured_ns_ = 0;  // when it was measured last here
  std::vector<measured_element> measured_;
  std::uint32_t measured_in_ = 0;
  tree_sum<element_loads> sum_;

  // PE 0
  bool running_ = false;
  std::uint32_t round_ = 0;
  std::size_t num_ordered_ = 0;  // PEs that have been told to move elements, and have not answered
  std::vector<std::pair<pe_id, reduction_id>> told_after_;  // this round
  std::vector<std::pair<pe_id, reduction_id>> next_round_;
  bool wanted_again_ = false;
  bool has_warned_ = false;
  int num_failures_ = 0;  // of the strategy, one after another
  struct experience {
    load_history history;
    plan_patience patience;

    template <class Archive>
    void serialize(Archive& ar) {
      ar & history & patience;
    }
  };
  experience learnt_;
  int looks_to_wait_ = 0;           // at most, until what the last plan moves has gone,
  std::uint64_t enough_moved_ = 0;  // which so many moves in all say
  balance_summary summary_;
};

}  // namespace imbrex
