#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <type_traits>
#include <vector>

#include "imbrex/async/task.h"
#include "imbrex/device/rounds/recorded_rounds.h"
#include "imbrex/device/run_ahead.h"
#include "imbrex/object/chare.h"

namespace imbrex {

namespace detail {

/// Added up over all chares that repeat rounds.
struct repeat_vote {
  std::uint64_t address = 0;  ///< of the rounds that are to be recorded, by the one chare that leads; 0: none are
  std::int32_t first = INT32_MAX, last = INT32_MIN;  ///< of how many rounds they want
  bool enough = true;                                ///< rounds, streams that can record, and nothing against it
  bool can_record = true;
  std::int32_t num_done = 0;

  template <class Archive>
  void serialize(Archive& ar) {
    ar & address & first & last & enough & can_record & num_done;
  }
};
struct add_votes {
  void operator()(repeat_vote& all, const repeat_vote& one) const {
    all.address += one.address;
    all.first = std::min(all.first, one.first);
    all.last = std::max(all.last, one.last);
    all.enough = all.enough && one.enough;
    all.can_record = all.can_record && one.can_record;
    all.num_done += one.num_done;
  }
};

/// The streams of one chare that repeats rounds.
class repeated_streams {
 public:
  repeated_streams(element_base& e, stream_set* own);
  ~repeated_streams() { stop(); }
  repeated_streams(const repeated_streams&) = delete;
  repeated_streams& operator=(const repeated_streams&) = delete;

  bool can_record() const;
  /// How often they called a function of the host, or resumed a coroutine.
  std::uint64_t num_functions() const;
  void record(const std::shared_ptr<recorded_rounds>& into);
  void end_round();
  void stop();
  /// So that a PE is not too far ahead of its device; once in so many rounds.
  task<> keep_up(int round);

 private:
  element_base& element_;
  std::vector<stream*> all_;
  std::unique_ptr<run_ahead> ahead_;
  bool records_ = false;
};

/// For the chare that leads: does what was recorded, and as often again as fits into `num_rounds`, all of them counted;
/// gives how many it did. Waits for the device.
task<int> do_again(std::shared_ptr<recorded_rounds> recorded, int num_rounds);

/// Throws `usage_error`.
[[noreturn]] void refuse_different_rounds(int fewest, int most);
/// In the log.
void tell_of_functions();

/// Rounds before any are recorded: memory grows, and whoever exchanges data gets to know whom.
inline constexpr int rounds_of_warming_up = 4;
/// Rounds that are recorded: data are exchanged with memory for each other round, and so twice two.
inline constexpr int rounds_that_are_recorded = 4;

}  // namespace detail

/// `co_await ix::repeat(*this, n, &block::round)` calls `round(i)` of the chare for i = 0 ... n - 1, one after another.
/// All chares of the array call it, with the same n.
///
/// On GPUs of one process the rounds of all chares, after the first few, are recorded and then done again and again as
/// one CUDA graph (Choi et al. 2022, III-D2, have one for each chare), without the host: no messages, no launches of
/// single kernels. That is for rounds that enqueue kernels, copies and fills into streams of the chare's own and
/// exchange memory of GPUs (`halo`, `channel`), the same in every second round: `round` is not called for those that
/// are done so. What a round does besides, as sending other messages or counting, is done in some of them only, and
/// must not be done there; to use a stream that is not the chare's own is a `usage_error`. Where rounds await a stream
/// or have it call a function of the host, or turn out to differ from those two before (by a kernel's argument, say),
/// the log says so, and they are called one by one, as they are on other devices, in several processes, with
/// `--imbrex-check-races`, and where n is small. Kernels launched by `launch_batch` are launched once for all chares of
/// a GPU.
///
/// Ends when all rounds have been enqueued; some have been done. While it lasts the chare stays on its PE.
template <class C>
task<> repeat(C& self, int n, task<> (C::*round)(int)) {
  static_assert(is_grid_index<typename C::index_type>, "imbrex: rounds are repeated by the chares of an array");
  element_base& e = chare_access::element(self);
  const bool was_pinned = self.is_pinned();
  self.pin();
  std::shared_ptr<recorded_rounds> mine;
  detail::repeat_vote vote;
  int i = 0;
  const int warm = std::min(n, detail::rounds_of_warming_up);
  for (; i < warm / 2; ++i) {
    auto called = (self.*round)(i);
    co_await called;
  }
  detail::repeated_streams streams(e, chare_access::streams(self));  // which it may have made only now
  const std::uint64_t num_functions = streams.num_functions();
  for (; i < warm; ++i) {
    auto called = (self.*round)(i);
    co_await called;
  }
  vote.first = vote.last = n;
  vote.enough = n >= 2 * (warm + detail::rounds_that_are_recorded) && streams.can_record();
  vote.can_record = vote.enough && num_functions == streams.num_functions();
  if (self.index() == typename C::index_type{}) {
    mine = std::make_shared<recorded_rounds>();
    vote.address = reinterpret_cast<std::uint64_t>(&mine);
  }
  auto asked = self.allreduce(vote, detail::add_votes{});
  const detail::repeat_vote all = co_await std::move(asked);
  if (all.first != all.last) detail::refuse_different_rounds(all.first, all.last);
  if (mine != nullptr && all.enough && !all.can_record) detail::tell_of_functions();
  if (all.can_record && all.address != 0) {
    // Of the chare that leads, which waits below until all have taken it.
    const std::shared_ptr<recorded_rounds> recorded =
        *reinterpret_cast<const std::shared_ptr<recorded_rounds>*>(all.address);
    streams.record(recorded);
    for (int r = 0; r < detail::rounds_that_are_recorded; ++r) {
      auto called = (self.*round)(i + r);
      co_await called;
      streams.end_round();
    }
    auto all_recorded = self.barrier();
    co_await std::move(all_recorded);
    streams.stop();
    detail::repeat_vote done;
    if (mine != nullptr) {
      auto again = detail::do_again(recorded, n - i);
      done.num_done = co_await again;
    }
    auto over = self.allreduce(done, detail::add_votes{});
    const detail::repeat_vote told = co_await std::move(over);
    i += told.num_done;
  }
  for (; i < n; ++i) {
    auto called = (self.*round)(i);
    co_await called;
    auto slower = streams.keep_up(i);
    co_await slower;
  }
  if (!was_pinned) self.unpin();
}

}  // namespace imbrex
