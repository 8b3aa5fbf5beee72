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
#include "imbrex/object/repeat/round_judge.h"

namespace imbrex {

namespace detail {

/// Added up over all chares that repeat rounds.
struct repeat_vote {
  std::uint64_t address = 0;  ///< of the rounds that are to be recorded, by the one chare that leads; 0: none are
  std::int32_t first = INT32_MAX, last = INT32_MIN;    ///< of how many rounds they want
  std::int32_t often = INT32_MAX, seldom = INT32_MIN;  ///< after how many they look whether that is enough; 0: never
  bool enough = true;                                  ///< rounds, streams that can record, and nothing against it
  bool can_record = true;
  std::int32_t num_done = 0;
  bool are_over = false;  ///< before all of them were done

  template <class Archive>
  void serialize(Archive& ar) {
    ar & address & first & last & often & seldom & enough & can_record & num_done & are_over;
  }
};
struct add_votes {
  void operator()(repeat_vote& all, const repeat_vote& one) const {
    all.address += one.address;
    all.first = std::min(all.first, one.first);
    all.last = std::max(all.last, one.last);
    all.often = std::min(all.often, one.often);
    all.seldom = std::max(all.seldom, one.seldom);
    all.enough = all.enough && one.enough;
    all.can_record = all.can_record && one.can_record;
    all.num_done += one.num_done;
    all.are_over = all.are_over || one.are_over;
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

struct done_again {
  int num_rounds = 0;
  bool are_over = false;  ///< the judge said so
};

/// For the chare that leads: does what was recorded, and as often again as fits into `num_rounds`, all of them counted
/// and `num_before` called before, or until `judge`, unless null, has had enough. Waits for the device. Graphs are kept
/// with `leader`: equal rounds, another time, take them again.
task<done_again> do_again(element_base& leader, std::shared_ptr<recorded_rounds> recorded, int num_before,
                          int num_rounds, round_judge* judge);

/// Throws `usage_error`.
[[noreturn]] void refuse_different_rounds(const repeat_vote& all);
/// In the log.
void tell_of_functions();

/// Rounds before any are recorded: memory grows, and whoever exchanges data gets to know whom.
inline constexpr int rounds_of_warming_up = 4;
/// Rounds that are recorded: data are exchanged with memory for each other round, and so twice two.
inline constexpr int rounds_that_are_recorded = 4;

/// How many rounds were done. `Judge`: a `round_judge_of`, or `no_judge`.
template <class C, class Judge>
task<int> repeat_rounds(C& self, int n, task<> (C::*round)(int), Judge judge) {
  static_assert(is_grid_index<typename C::index_type>, "imbrex: rounds are repeated by the chares of an array");
  constexpr bool is_judged = !std::is_same_v<Judge, no_judge>;
  element_base& e = chare_access::element(self);
  const bool was_pinned = self.is_pinned();
  self.pin();
  std::shared_ptr<recorded_rounds> mine;
  repeat_vote vote;
  int i = 0;
  const int warm = std::min(n, rounds_of_warming_up);
  for (; i < warm / 2; ++i) {
    auto called = (self.*round)(i);
    co_await called;
  }
  repeated_streams streams(e, chare_access::streams(self));  // which it may have made only now
  const std::uint64_t num_functions = streams.num_functions();
  for (; i < warm; ++i) {
    auto called = (self.*round)(i);
    co_await called;
  }
  vote.first = vote.last = n;
  vote.often = vote.seldom = 0;
  if constexpr (is_judged) vote.often = vote.seldom = judge.every();
  vote.enough = n >= 2 * (warm + rounds_that_are_recorded) && streams.can_record();
  vote.can_record = vote.enough && num_functions == streams.num_functions();
  if (self.index() == typename C::index_type{}) {
    mine = std::make_shared<recorded_rounds>();
    vote.address = reinterpret_cast<std::uint64_t>(&mine);
  }
  auto asked = self.allreduce(vote, add_votes{});
  const repeat_vote all = co_await std::move(asked);
  if (all.first != all.last || all.often != all.seldom) refuse_different_rounds(all);
  if (mine != nullptr && all.enough && !all.can_record) tell_of_functions();
  bool are_over = false;
  if (all.can_record && all.address != 0) {
    // Of the chare that leads, which waits below until all have taken it.
    const std::shared_ptr<recorded_rounds> recorded =
        *reinterpret_cast<const std::shared_ptr<recorded_rounds>*>(all.address);
    streams.record(recorded);
    for (int r = 0; r < rounds_that_are_recorded; ++r) {
      auto called = (self.*round)(i + r);
      co_await called;
      streams.end_round();
    }
    if constexpr (is_judged) judge.add_to(*recorded, linear(self.index(), self.extent()));
    auto all_recorded = self.barrier();
    co_await std::move(all_recorded);
    streams.stop();
    repeat_vote done;
    if (mine != nullptr) {
      round_judge* who = nullptr;
      if constexpr (is_judged) who = &judge;
      auto again = do_again(e, recorded, i, n - i, who);
      const done_again told = co_await again;
      done.num_done = told.num_rounds;
      done.are_over = told.are_over;
    }
    auto over = self.allreduce(done, add_votes{});
    const repeat_vote told = co_await std::move(over);
    i += told.num_done;
    are_over = told.are_over;
  }
  if constexpr (is_judged) {
    if (!are_over) judge.look_where_due(i);
  }
  while (i < n && !are_over) {
    auto called = (self.*round)(i);
    co_await called;
    auto slower = streams.keep_up(i);
    co_await slower;
    ++i;
    if constexpr (is_judged) {
      if (judge.is_to_ask(i)) {
        co_await judge.there();
        auto together = self.allreduce(judge.own(), judge.operation());
        judge.decide(co_await std::move(together));
      }
      are_over = judge.are_over(i);
      if (!are_over) judge.look_where_due(i);
    }
  }
  if (!was_pinned) self.unpin();
  co_return i;
}

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
/// a GPU. To record costs some rounds' time, and to make a graph milliseconds: those of the last four kinds of rounds
/// that a chare array has repeated are kept, and done again where the rounds are found to be equal.
///
/// Ends when all rounds have been enqueued; some have been done. While it lasts the chare stays on its PE.
template <class C>
task<> repeat(C& self, int n, task<> (C::*round)(int)) {
  auto all = detail::repeat_rounds(self, n, round, detail::no_judge{});
  co_await all;
}

/// `const int rounds = co_await ix::repeat(*this, n, &block::round, ix::until(change_, ix::sum, is_little, 20))`: at
/// most n rounds, and fewer where all chares' values together are enough. Gives how many, to all chares. Looking costs
/// a graph's rounds no time: it is done while those that follow are under way, and so as many are done again as lie
/// between two looks. Which rounds are the last does not depend on where and how they are done.
template <class C, class T, class Op, class Enough>
task<int> repeat(C& self, int n, task<> (C::*round)(int), until<T, Op, Enough> condition) {
  return detail::repeat_rounds(self, n, round, detail::round_judge_of<T, Op, Enough>(std::move(condition)));
}

}  // namespace imbrex
