#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "imbrex/pe/reply.h"
#include "imbrex/pe/scheduler.h"

/// Quiescence: no message is on its way or queued, no entry method runs or is about to go on, no operation of a device
/// or timer is pending, anywhere. Found by waves of counting (Mattern's four counters): a wave sums over all PEs the
/// messages created and performed; two waves in a row with equal, balanced sums prove it. Where all PEs are of one
/// process and idle, their counts are read instead, and nobody is woken: if afterwards none has stirred since and all
/// inboxes are empty, then there was a moment in between when all were idle and nothing was under way. Messages for
/// elements that do not exist are not on their way: they wait. The same detector notices a deadlock: quiescence that
/// nobody waits for, while the main chare has not returned or such messages are left; and failures of tasks that nobody
/// has awaited when the job would end. Before it reports one, messages to elements that have ended, and insertions of
/// elements that live, are refused: until then the former might have been inserted again, the latter ended.
namespace imbrex {

/// Lives on every PE; the one of PE 0 coordinates.
class quiescence_detector {
 public:
  explicit quiescence_detector(scheduler& pe) : pe_(pe) {}

  /// PE 0: `who` is answered at the next quiescence.
  void ask(const reply_to& who);
  /// PE 0: the main chare has returned: the job ends with this code at the next quiescence.
  void exit_when_quiet(int code);
  /// PE 0, from its loop when it has nothing to do.
  void look();

  /// PE 0: what one PE counted in wave `wave`.
  void answer(std::uint32_t wave, const scheduler::counts& c);
  /// PE 0: what waits on one PE, for the report of a deadlock.
  void describe(std::vector<std::string> lines);

 private:
  static constexpr std::int64_t shortest_interval_ns = 1'000;  // between looks while somebody waits
  static constexpr std::int64_t longest_interval_ns = 20'000;
  static constexpr std::int64_t watch_interval_ns = 50'000'000;

  enum class report { deadlock, failures, left_over };
  static const char* heading_of(report r);

  bool wanted() const { return !waiting_.empty() || exit_code_.has_value(); }
  bool look_at_idle_ones();
  bool read_idle_ones();
  bool are_idle_still() const;
  void start_wave();
  void end_wave();
  void quiet();
  void ask_who_waits();
  void look_eagerly();
  void look_again_later();

  scheduler& pe_;
  std::vector<reply_to> waiting_;
  std::optional<int> exit_code_;
  bool wave_running_ = false;
  std::uint32_t wave_ = 0;
  int answers_ = 0;
  scheduler::counts sums_;
  scheduler::counts last_sums_;
  std::vector<std::uint64_t> epochs_;  // of the idle ones that were read, by PE
  bool last_balanced_ = false;
  std::optional<std::uint64_t> refused_before_;  // how many messages had been, when it was last tried
  std::int64_t eager_since_ns_ = 0;
  bool reporting_ = false;
  int reports_ = 0;
  report report_ = report::deadlock;
  std::vector<std::string> lines_;
};

}  // namespace imbrex
