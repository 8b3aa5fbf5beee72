#include "imbrex/object/repeat/repeat.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "imbrex/base/log.h"
#include "imbrex/pe/scheduler.h"

namespace imbrex::detail {

repeated_streams::repeated_streams(element_base& e, stream_set* own) : element_(e) {
  if (own != nullptr) all_ = {&own->compute, &own->pack, &own->unpack, &own->to_host, &own->to_device};
  element_.ties().for_each_follower([this](const actor_follower& f) {
    if (stream* const s = stream::that_follows(f); s != nullptr) all_.push_back(s);
  });
}

bool repeated_streams::can_record() const {
  const rank_context& rank = scheduler::current().rank();
  return rank.num_ranks == 1 && !rank.check_races && !all_.empty() &&
         std::ranges::all_of(all_, [](const stream* s) { return s->can_record(); });
}

std::uint64_t repeated_streams::num_functions() const {
  std::uint64_t n = 0;
  for (const stream* const s : all_) n += s->num_functions();
  return n;
}

void repeated_streams::record(const std::shared_ptr<recorded_rounds>& into) {
  for (stream* const s : all_) s->record_rounds(into);
  element_.ties().records_rounds = records_ = true;
}

void repeated_streams::end_round() {
  for (stream* const s : all_) s->end_round();
}

void repeated_streams::stop() {
  if (!std::exchange(records_, false)) return;
  element_.ties().records_rounds = false;
  for (stream* const s : all_) s->stop_recording();
}

task<> repeated_streams::keep_up(int round) {
  constexpr int every = 32;
  if (all_.empty() || round % every != 0) co_return;
  if (ahead_ == nullptr) ahead_ = std::make_unique<run_ahead>(2);
  completion& passed = ahead_->step(*all_.front());
  co_await passed;
}

void refuse_different_rounds(const repeat_vote& all) {
  if (all.first != all.last) {
    throw usage_error(fmt::format(
        "ix::repeat was called for {} rounds by one chare and for {} by another: all chares of the array call it with "
        "the same number",
        all.first, all.last));
  }
  throw usage_error(fmt::format(
      "ix::repeat looks at the value of ix::until after each {} rounds for one chare and each {} for another (0: "
      "never): all chares of the array call it with the same number",
      all.often, all.seldom));
}

void check_looks(int every) {
  if (every < 2 || every % 2 != 0) {
    throw usage_error(
        fmt::format("ix::until looks at its value after each {} rounds: let it be an even number, since rounds are "
                    "repeated by twos",
                    every));
  }
}

void refuse_missing_value() {
  throw usage_error(
      "ix::until looks at a round_value for which no round has asked for memory: let a kernel of the round store into "
      "its parts(stream, groups)");
}

void tell_of_functions() {
  log_info(
      "ix::repeat calls its rounds one by one: a round awaits a stream, or has it call a function of the host (as "
      "memory of the host that is sent does)");
}

}  // namespace imbrex::detail
