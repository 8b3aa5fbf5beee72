#include "imbrex/runtime/rank/rank_run.h"

#include <malloc.h>

#include <mutex>
#include <thread>

#include <fmt/format.h>

#include "imbrex/balance/live/balancer.h"
#include "imbrex/base/error.h"
#include "imbrex/base/log.h"
#include "imbrex/base/topology.h"
#include "imbrex/checkpoint/live/checkpointer.h"
#include "imbrex/object/collection/entry_activity.h"
#include "imbrex/object/seeds/seed_pool.h"
#include "imbrex/object/state/member_check.h"
#include "imbrex/pe/pe_stepper.h"
#include "imbrex/pe/quiescence.h"
#include "imbrex/runtime/main_coroutine.h"
#include "imbrex/runtime/rank/crash_reports.h"
#include "imbrex/runtime/rank/pe_watch.h"
#include "imbrex/runtime/readonly.h"
#include "imbrex/trace/trace_slice.h"

namespace imbrex::detail {

rank_run::rank_run(const runtime_options& options, transport* t, std::vector<std::string> arguments,
                   rank_memory* memory, pe_driver* driver)
    : options_(options), transport_(t), memory_(memory), driver_(driver), arguments_(std::move(arguments)) {
  context_.rank = t != nullptr ? t->rank() : 0;
  context_.num_ranks = t != nullptr ? t->num_ranks() : 1;
  context_.transport = context_.num_ranks > 1 ? t : nullptr;
  context_.check_races = options_.check_races;
}

rank_run::~rank_run() = default;

void rank_run::agree(const std::string& command_line) {
  agreed_ = agree_on_start(options_, transport_, command_line, driver_ != nullptr ? &driver_->agreement() : nullptr);
  if (options_.single_thread) agreed_.plan.pin = false;
  context_.pes_per_rank = agreed_.plan.pes;
  context_.spin_ns = std::int64_t{agreed_.plan.spin_us} * 1000;
  if (!options_.task_costs.empty()) {
    costs_ = std::make_unique<cost_store>(options_.task_costs);
    options_.tasks.costs = costs_.get();
  }
  context_.tasks = options_.tasks;
  context_.tasks.sharing = agreed_.plan.pes * agreed_.num_sharing_devices;
  if (memory_ != nullptr) memory_->begin_run(transport_, agreed_.host_of_rank);
  if (context_.transport == nullptr) return;
  const protocol_table::way forced = options_.protocols.forced;
  options_.protocols = agreed_.protocols;  // rank 0 has read the file: its sizes are everyone's
  options_.protocols.forced = forced;
  if (context_.rank != 0 && !transport_->shares_process()) readonly_base::load_all(agreed_.readonly_values);
  agreed_.readonly_values = {};
  sharing_ = {agreed_.same_host, agreed_.same_host};
  agreed_.host_of_rank = {};
}

namespace {
// Memory of messages comes and goes. Given back to the system each time, it would cost a page fault for every 4 KiB.
// Said once for the process: where another malloc has taken the place of glibc's, as a sanitizer's does, glibc sets its
// own up at the first of these calls, and two ranks' threads must not do that at the same time.
void keep_freed_memory() {
#if defined(__GLIBC__)
  static std::once_flag said;
  std::call_once(said, [] {
    mallopt(M_MMAP_THRESHOLD, 32 << 20);
    mallopt(M_TRIM_THRESHOLD, 256 << 20);
  });
#endif
}
}  // namespace

int rank_run::run(const main_program& main) {
  if (driver_ == nullptr) keep_freed_memory();
  facade_ = std::make_unique<runtime>(context_, options_);
  context_.facade = facade_.get();
  if (!options_.trace.empty())
    recorder_ = std::make_unique<trace_recorder>(context_.rank, driver_ != nullptr ? 0 : agreed_.began_ns,
                                                 is_traced(options_, context_.rank, context_.num_ranks)
                                                     ? trace_recorder::default_max_records
                                                     : trace_recorder::keep_nothing);
  if (options_.single_thread && context_.num_ranks == 1 && options_.device == "host") {
    context_.time = &driven_time_;
    if (!options_.balance.strategy.empty() || options_.busiest_elements > 0)
      log_warning(
          "--imbrex-single-thread has a clock that work does not move, so that a run is the same each time: no "
          "element has a load, nothing is balanced, and none is busy; with --imbrex-ranks=2 there is none");
  }
  make_pes();
  make_devices(processors_of_pes());
  if (context_.transport != nullptr) start_transport();
  if (driver_ != nullptr) {
    run_by_driver(main);
  } else {
    options_.single_thread ? run_by_one_thread(main) : run_by_threads(main);
    unpin_this_thread();
  }
  if (devices_ != nullptr) devices_->log_memory();
  return code_after_reports();
}

void rank_run::make_pes() {
  detail::member_check::turn(options_.check_serialize);
  for (int i = 0; i < agreed_.plan.pes; ++i) {
    const pe_id id = context_.first_pe() + i;
    trace_track* track = recorder_ ? &recorder_->add_track(fmt::format("PE {}", id), i) : nullptr;
    pes_.push_back(std::make_unique<chare_pe>(context_, id, track));
    chare_pe& pe = *pes_.back();
    pe.recorder = recorder_.get();
    if (options_.schedule_seed != 0) pe.set_schedule_seed(mix(options_.schedule_seed) + static_cast<std::uint64_t>(id));
    hosts_.push_back(std::make_unique<host_device>(pe, i, host_memory_));
    if (options_.check_memory) hosts_.back()->guard_memory_by(guards_);
    pe.host = hosts_.back().get();
    pe.default_device = hosts_.back().get();
    if (context_.transport != nullptr)
      pe.mover = std::make_unique<data_mover>(pe, *context_.transport, id, i, sharing_, options_.protocols);
    context_.pes.push_back(&pe);
    if (!options_.balance.strategy.empty()) {
      const int ranks_per_node = transport_ != nullptr ? transport_->num_local_ranks() : 1;
      pe.balancing = std::make_unique<balancer>(pe, options_.balance,
                                                pe_shape{context_.num_pes(), agreed_.plan.pes, ranks_per_node});
    }
    pe.shared = std::make_unique<seed_pool>(pe);
    pe.checkpointing = std::make_unique<checkpointer>(
        pe, options_.checkpoint, checkpointed_globals{&readonly_base::save_shared, &readonly_base::load_shared},
        memory_);
    if (options_.busiest_elements > 0)
      times_.push_back(std::make_unique<element_times>(pe, static_cast<std::size_t>(options_.busiest_elements)));
  }
  if (agreed_.plan.pes == 1) return;
  const std::vector<executor*> all(context_.pes.begin(), context_.pes.end());
  context_.asleep = std::make_unique<sleepers>(all);
  if (options_.task_stealing) context_.helpers = std::make_unique<task_stealing>(all, *context_.asleep);
}

// ------------------------------------------------------------------------------------------------ devices, network

std::vector<int> rank_run::processors_of_pes() const {
  const int local_ranks = transport_ != nullptr ? transport_->num_local_ranks() : 1;
  const int local_rank = transport_ != nullptr ? transport_->local_rank() : 0;
  std::vector<int> processors;
  processors.reserve(pes_.size());
  for (int i = 0; i < agreed_.plan.pes; ++i)
    processors.push_back(agreed_.plan.pin ? processor_for_pe(i, agreed_.plan.pes, local_rank, local_ranks) : -1);
  return processors;
}

void rank_run::make_devices(const std::vector<int>& processors) {
  const int local_ranks = transport_ != nullptr ? transport_->num_local_ranks() : 1;
  const int local_rank = transport_ != nullptr ? transport_->local_rank() : 0;
  devices_ = driver_ != nullptr ? driver_->open_devices()
                                : open_devices(options_, choose_devices(options_, local_rank, local_ranks), processors,
                                               recorder_.get());
  if (devices_ == nullptr) return;
  for (std::size_t i = 0; i < pes_.size(); ++i) {
    devices_->add_pe(*pes_[i]);
    pes_[i]->default_device = &devices_->of_pe(i);
    pes_[i]->gpus = devices_->all_of_pe(i);
    if (options_.check_memory) {
      for (device* const d : pes_[i]->gpus) d->guard_memory_by(guards_);
    }
    if (pes_[i]->mover != nullptr && !devices_->can_be_reached()) pes_[i]->mover->stage_device_memory();
    if (balancer* const b = balancer::of(*pes_[i]); b != nullptr) b->sees_devices();
  }
  context_.gpu_of_pe = devices_->map();
  if (context_.transport == nullptr || !devices_->can_be_reached()) return;
  sharing_ = agree_on_sharing(*context_.transport, agreed_.same_host, pes_[0]->gpus);
  devices_->watch_memory(
      [t = context_.transport](std::byte* start, std::size_t bytes, memory_kind kind, int gpu, bool comes) {
        if (comes) {
          t->add_memory({start, bytes, kind, gpu});
        } else {
          t->forget_memory(start);
        }
      });
}

void rank_run::start_transport() {
  delivery to;
  to.first_pe = context_.first_pe();
  for (scheduler* pe : context_.pes) to.pes.push_back(pe);
  to.act = &scheduler::receive;
  context_.transport->start(to);
}

// ------------------------------------------------------------------------------------------------ threads

void rank_run::run_by_threads(const main_program& main) {
  const pe_watch watch(context_.pes, context_.rank, context_.num_ranks);
  std::vector<std::thread> threads;
  for (std::size_t i = 1; i < pes_.size(); ++i) threads.emplace_back([this, i, &main] { pe_thread(i, main); });
  pe_thread(0, main);
  for (std::thread& t : threads) t.join();
}

void rank_run::pe_thread(std::size_t i, const main_program& main) {
  const signal_stack stack;
  scheduler& pe = *pes_[i];
  if (context_.num_ranks > 1) set_thread_log_rank(context_.rank);
  if (const int processor = processors_of_pes()[i]; processor >= 0) pin_this_thread(processor);
  pe.bind_to_this_thread();
  if (devices_ != nullptr) devices_->bind_to_this_thread(i);
  if (pe.id() == 0) start_main(pe, main);
  pe.run();
  end_on_thread(i);
}

/// All that the PEs allocate comes from the first one's slab: the others' belong to no thread.
void rank_run::run_by_one_thread(const main_program& main) {
  if (context_.num_ranks > 1) set_thread_log_rank(context_.rank);
  pes_[0]->bind_to_this_thread();
  become(0);
  if (pes_[0]->id() == 0) start_main(*pes_[0], main);
  driven_time* const time = context_.time == &driven_time_ ? &driven_time_ : nullptr;
  pe_stepper(context_.pes, [this](std::size_t i) { become(i); }, {.seed = options_.schedule_seed, .time = time}).run();
  end_all_on_this_thread();
}

/// Other ranks' PEs are on this thread, too. The main chare begins in the first PE's first turn.
void rank_run::run_by_driver(const main_program& main) {
  driver_->take(context_, [this](std::size_t i) {
    become(i);
    set_thread_log_rank(context_.num_ranks > 1 ? context_.rank : -1);
  });
  struct beginning : work {
    rank_run* of;
    const main_program* main;
  };
  beginning first{{}, this, &main};
  first.act = [](work* w, work_action action) {
    auto& self = static_cast<beginning&>(*w);
    if (action == work_action::run) self.of->start_main(*self.of->pes_[0], *self.main);
  };
  become(0);
  if (pes_[0]->id() == 0) pes_[0]->post_here(&first);
  executor::set_current(nullptr);
  driver_->run();
  end_all_on_this_thread();
}

void rank_run::become(std::size_t i) {
  executor::set_current(pes_[i].get());
  if (devices_ != nullptr) devices_->bind_to_this_thread(i);
}

void rank_run::start_main(scheduler& pe, const main_program& main) {
  const trace_slice its_first_piece(pe.track, main_chare_name, trace_category::entry);
  try {
    entry_activity::start(pe, nullptr, main_chare_name,
                          main_coroutine(*facade_, main, arguments_, options_.checkpoint, memory_), reply_to{},
                          [](scheduler& on, entry_activity& a) {
                            using promise = task_promise<int>;
                            auto& p = std::coroutine_handle<promise>::from_address(a.frame.address()).promise();
                            if (p.failure) {
                              on.fail_main(p.failure);
                            } else {
                              on.quiescence().exit_when_quiet(p.take());
                            }
                          });
  } catch (...) {
    pe.fail_main(std::current_exception());
  }
}

}  // namespace imbrex::detail
