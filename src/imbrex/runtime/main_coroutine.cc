#include "imbrex/runtime/main_coroutine.h"

#include <exception>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "imbrex/base/clock.h"
#include "imbrex/base/error.h"
#include "imbrex/base/log.h"
#include "imbrex/checkpoint/checkpoint_folder.h"
#include "imbrex/checkpoint/live/restoring.h"
#include "imbrex/checkpoint/partial_checkpoint.h"

namespace imbrex::detail {

namespace {

constexpr const char* what_can_be_restarted =
    "it is none that imbrex::run<program> starts (in Python: an object with start and restart that imbrex.run is "
    "given), see docs/checkpoints.md";

/// In files: what the user named, or what has been written since.
std::string folder_to_begin_with(checkpoint_options o, bool is_later_run) {
  if (is_later_run && !o.folder.empty() && !checkpoint_numbers(o.folder).empty()) o.restart = "auto";
  return o.restart.empty() ? "" : checkpoint_to_restart_from(o);
}

/// Where this run begins; nothing: from the start.
std::optional<checkpoint_place> place_to_begin(const checkpoint_options& o, const rank_memory* memory) {
  if (memory != nullptr && memory->plan.number != 0) return checkpoint_place{};
  const bool is_later_run = memory != nullptr && memory->num_runs > 1;
  if (std::string folder = folder_to_begin_with(o, is_later_run); !folder.empty())
    return checkpoint_place{std::move(folder)};
  return std::nullopt;
}

constexpr double seconds(std::int64_t ns) { return static_cast<double>(ns) * 1e-9; }

int num_lost(const runtime& rt, const rank_memory& memory) {
  return memory.num_ranks_before - rt.num_ranks() + memory.num_replaced;
}

/// With whom, and from where a job goes on.
std::string about_next_run(const runtime& rt, const rank_memory& memory, const std::optional<checkpoint_place>& from) {
  std::string text = fmt::format("the job goes on with {} PEs", rt.num_pes());
  if (const int lost = num_lost(rt, memory); lost > 0) {
    text = fmt::format("{} of {} ranks lost; the job goes on with {}", lost, memory.num_ranks_before, rt.num_ranks());
    if (memory.num_replaced > 0) text += fmt::format(", of which {} had been spare", memory.num_replaced);
  }
  if (!from) {
    text += ", from the start: there is no checkpoint yet";
  } else if (from->folder.empty()) {
    text += fmt::format(", from checkpoint {} in memory, made {:.3f} s ago", memory.plan.number,
                        seconds(static_cast<std::int64_t>(memory.plan.made_ago_ns)));
  } else {
    text += ", from " + from->folder;
  }
  if (!memory.plan.why_not.empty()) text += fmt::format(" (a newer one in memory is lost: {})", memory.plan.why_not);
  return text;
}

/// A loss is news, a number of PEs that was asked for is not.
void tell(const runtime& rt, const rank_memory& memory, const std::string& text) {
  num_lost(rt, memory) > 0 ? log_warning(text) : log_info(text);
}

/// Until the next one is made, a rank's loss would be the loss of what was restored here.
task<> keep_again(std::vector<std::byte> program) {
  checkpoint_leader& c = checkpointer::of(scheduler::current()).leader();
  c.saves_program_by([program = std::move(program)] { return program; });
  std::string failure;
  try {
    auto kept = c.make_in_memory();
    co_await kept;
  } catch (const error& e) {
    failure = e.what();
  }
  if (!failure.empty()) log_warning(fmt::format("what was restored is not kept in memory yet: {}", failure));
}

task<> forget() {
  auto forgotten = checkpointer::of(scheduler::current()).leader().forget_memory();
  co_await forgotten;
}

}  // namespace

task<int> main_coroutine(runtime& rt, const main_program& main, std::vector<std::string> arguments,
                         const checkpoint_options& o, rank_memory* memory) {
  if (!main.restart && (o.in_memory() || !o.folder.empty())) {
    throw config_error(fmt::format("--imbrex-checkpoint{}: this program cannot be restarted, and so makes none: {}",
                                   o.in_memory() ? "-memory" : "", what_can_be_restarted));
  }
  if (!o.folder.empty()) check_checkpoint_base(o.folder);
  const std::optional<checkpoint_place> from = place_to_begin(o, memory);
  const bool is_later_run = memory != nullptr && memory->num_runs > 1;
  if (is_later_run) tell(rt, *memory, about_next_run(rt, *memory, from));
  if (!from) {
    auto started = main.start(rt, std::move(arguments));
    co_return co_await started;
  }
  if (!main.restart) {
    throw config_error(fmt::format("--imbrex-restart: this program cannot be restarted: {}", what_can_be_restarted));
  }
  auto restored = restore_job(*from);
  std::vector<std::byte> program = co_await restored;
  if (is_later_run) {
    auto kept = o.in_memory() && rt.num_ranks() > 1 ? keep_again(program) : forget();
    co_await kept;
    tell(rt, *memory,
         fmt::format("the job goes on {:.3f} s after it stopped", seconds(now_ns() - memory->stopped_at_ns)));
  }
  auto started = main.restart(rt, std::move(arguments), std::move(program));
  co_return co_await started;
}

}  // namespace imbrex::detail
