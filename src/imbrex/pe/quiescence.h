#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "imbrex/pe/reply.h"
#include "imbrex/pe/scheduler.h"
#include "imbrex/pe/tree_sum.h"

/// Quiescence: no message is on its way or queued, no entry method runs or is about to go on, no operation of a device
/// or timer is pending, anywhere. Found by waves of counting (Mattern's four counters): a wave sums over all PEs the
/// messages created and performed, up the spanning tree; two waves in a row with equal, balanced sums prove it. Where
/// all PEs are of one process and idle, their counts are read instead, and nobody is woken: if afterwards none has
/// stirred since and all inboxes are empty, then there was a moment in between when all were idle and nothing was under
/// way. Messages for elements that do not exist are not on their way: they wait. The same detector notices a deadlock:
/// quiescence that nobody waits for, while the main chare has not returned or such messages are left; and failures of
/// tasks that nobody has awaited when the job would end. Before it reports one, messages to elements that have ended,
/// and insertions of elements that live, are refused: until then the former might have been inserted again, the latter
/// ended.
namespace imbrex {

/// What waits on some PEs, a line each.
struct wait_lines {
  static constexpr std::size_t most = 64;  ///< of all PEs, so that the report can be read
  std::vector<std::string> lines;
  std::uint64_t num_left_out = 0;

  wait_lines& operator+=(wait_lines&& more);
  template <class Archive>
  void serialize(Archive& ar) {
    ar & lines & num_left_out;
  }
};

/// Lives on every PE; the one of PE 0 coordinates.
class quiescence_detector {
 public:
  explicit quiescence_detector(scheduler& pe) : pe_(pe) {}

  /// PE 0: `who` is answered at the next quiescence. Those before others are answered alone, since they make the job go
  /// on; the others at the next one after that.
  void ask(const reply_to& who, bool before_others = false);
  /// PE 0: the main chare has returned: the job ends with this code at the next quiescence.
  void exit_when_quiet(int code);
  /// PE 0, from its loop when it has nothing to do.
  void look();

  /// A wave from `root` has come: counts here.
  void count(pe_id root);
  /// What a PE below and those below it have counted.
  void add(const scheduler::counts& c);
  /// The same for what waits, for the report of a deadlock.
  void describe(pe_id root, bool only_failures);
  void add(wait_lines&& lines);

 private:
  static constexpr std::int64_t shortest_interval_ns = 1'000;  // between looks while somebody waits
  static constexpr std::int64_t longest_interval_ns = 20'000;
  static constexpr std::int64_t watch_interval_ns = 50'000'000;

  enum class report { deadlock, failures, left_over };
  static const char* heading_of(report r);

  bool wanted() const { return !first_.empty() || !waiting_.empty() || exit_code_.has_value(); }
  bool look_at_idle_ones();
  bool read_idle_ones();
  bool are_idle_still() const;
  void start_wave();
  void pass_counts_on();
  void end_wave(const scheduler::counts& sums);
  void pass_lines_on();
  void write_report(const wait_lines& all);
  void quiet();
  void answer(std::vector<reply_to>& those);
  void ask_who_waits();
  void look_eagerly();
  void look_again_later();

  scheduler& pe_;
  std::vector<reply_to> first_, waiting_;
  std::optional<int> exit_code_;
  bool wave_running_ = false;
  tree_sum<scheduler::counts> wave_;
  scheduler::counts sums_;  // as last known
  scheduler::counts last_sums_;
  std::vector<std::uint64_t> epochs_;  // of the idle ones that were read, by PE
  bool last_balanced_ = false;
  std::optional<std::uint64_t> refused_before_;  // how many messages had been, when it was last tried
  std::int64_t eager_since_ns_ = 0;
  bool reporting_ = false;
  report report_ = report::deadlock;
  tree_sum<wait_lines> waits_;
};

}  // namespace imbrex
