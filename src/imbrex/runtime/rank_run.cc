#include "imbrex/runtime/rank_run.h"

#include <malloc.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <thread>

#include <fmt/format.h>

#include "imbrex/base/clock.h"
#include "imbrex/base/topology.h"
#include "imbrex/comm/data/protocol_file.h"
#include "imbrex/object/collection/entry_activity.h"
#include "imbrex/object/program_digest.h"
#include "imbrex/pe/quiescence.h"
#include "imbrex/runtime/device_sharing.h"
#include "imbrex/runtime/readonly.h"

namespace imbrex::detail {

namespace {
constexpr std::int64_t patience_ns = 5'000'000'000;  // with a PE that does not come back after a failure

// Which ranks run on this machine and in other processes: those may read its GPUs' memory.
std::vector<bool> find_neighbours(transport& t) {
  const std::string mine = name_of_this_machine();
  const auto all = t.all_gather(to_bytes(mine));
  std::vector<bool> same(all.size());
  for (std::size_t r = 0; r < all.size(); ++r) {
    std::string other;
    from_bytes(all[r], other);
    same[r] = !t.shares_process() && other == mine;
  }
  return same;
}

// Launchers give the ranks of a host either all its cores or each its own.
bool cores_are_shared(transport* t) {
  if (t == nullptr || t->num_local_ranks() == 1) return false;
  char host[256] = {};
  gethostname(host, sizeof host - 1);
  const std::pair<std::string, std::vector<int>> mine(host, processors_in_pinning_order());
  const auto everyone = t->all_gather(to_bytes(mine));
  for (std::size_t r = 0; r < everyone.size(); ++r) {
    std::pair<std::string, std::vector<int>> other;
    from_bytes(everyone[r], other);
    if (static_cast<rank_id>(r) == t->rank() || other.first != mine.first) continue;
    for (const int processor : other.second) {
      if (std::find(mine.second.begin(), mine.second.end(), processor) != mine.second.end()) return true;
    }
  }
  return false;
}
}  // namespace

rank_run::rank_run(const runtime_options& options, transport* t, std::vector<std::string> arguments)
    : options_(options), transport_(t), arguments_(std::move(arguments)) {
  const int local_ranks = t != nullptr ? t->num_local_ranks() : 1;
  settle_devices(options_, local_ranks, t == nullptr || t->rank() == 0);
  plan_ = plan_pes(options_, available_cores(), local_ranks, cores_are_shared(t));
  context_.rank = t != nullptr ? t->rank() : 0;
  context_.num_ranks = t != nullptr ? t->num_ranks() : 1;
  context_.pes_per_rank = plan_.pes;
  context_.transport = context_.num_ranks > 1 ? t : nullptr;
  context_.check_races = options_.check_races;
  if (!options_.task_costs.empty()) {
    costs_ = std::make_unique<cost_store>(options_.task_costs);
    options_.tasks.costs = costs_.get();
  }
  context_.tasks = options_.tasks;
  context_.tasks.sharing = plan_.pes;
  context_.spin_ns = std::int64_t{plan_.spin_us} * 1000;
}

rank_run::~rank_run() = default;

void rank_run::agree(const std::string& command_line) {
  const std::uint64_t program = program_digest();
  if (context_.num_ranks == 1) return;
  const auto all = transport_->all_gather(to_bytes(std::tuple(command_line, context_.pes_per_rank, program)));
  std::tuple<std::string, int, std::uint64_t> first;
  from_bytes(all[0], first);
  for (std::size_t r = 1; r < all.size(); ++r) {
    std::tuple<std::string, int, std::uint64_t> other;
    from_bytes(all[r], other);
    if (std::get<2>(other) != std::get<2>(first)) {
      throw config_error(
          fmt::format("rank {} runs another program than rank 0: start all ranks from the same build", r));
    }
    if (std::get<0>(other) != std::get<0>(first)) {
      throw config_error(fmt::format("rank {} was started with '{}', rank 0 with '{}': give all ranks the same options",
                                     r, std::get<0>(other), std::get<0>(first)));
    }
    if (std::get<1>(other) != std::get<1>(first)) {
      throw config_error(
          fmt::format("rank {} would have {} PEs, rank 0 has {}: give all ranks the same cores, or --imbrex-pes", r,
                      std::get<1>(other), std::get<1>(first)));
    }
  }
  if (transport_->shares_process()) return;
  const auto values = transport_->all_gather(context_.rank == 0 ? readonly_base::save_all() : std::vector<std::byte>{});
  if (context_.rank != 0) readonly_base::load_all(values[0]);
}

namespace {
// Memory of messages comes and goes. Given back to the system each time, it would cost a page fault for every 4 KiB.
void keep_freed_memory() {
#if defined(__GLIBC__)
  mallopt(M_MMAP_THRESHOLD, 32 << 20);
  mallopt(M_TRIM_THRESHOLD, 256 << 20);
#endif
}
}  // namespace

int rank_run::run(const main_function& main) {
  keep_freed_memory();
  facade_ = std::make_unique<runtime>(context_, options_);
  context_.facade = facade_.get();
  if (!options_.trace.empty()) {
    std::int64_t start = now_ns();
    if (context_.num_ranks > 1) from_bytes(transport_->all_gather(to_bytes(start))[0], start);
    recorder_ = std::make_unique<trace_recorder>(context_.rank, start);
  }
  if (context_.transport != nullptr) {
    same_host_ = find_neighbours(*context_.transport);
    settle_protocols();
  }
  for (int i = 0; i < plan_.pes; ++i) {
    const pe_id id = context_.first_pe() + i;
    trace_track* track = recorder_ ? &recorder_->add_track(fmt::format("PE {}", id), i) : nullptr;
    pes_.push_back(std::make_unique<chare_pe>(context_, id, track));
    pes_.back()->recorder = recorder_.get();
    if (options_.schedule_seed != 0)
      pes_.back()->set_schedule_seed(mix(options_.schedule_seed) + static_cast<std::uint64_t>(id));
    hosts_.push_back(std::make_unique<host_device>(*pes_.back(), i, host_memory_));
    pes_.back()->host = hosts_.back().get();
    pes_.back()->default_device = hosts_.back().get();
    if (context_.transport != nullptr) {
      pes_.back()->mover =
          std::make_unique<data_mover>(*pes_.back(), *context_.transport, id, i, same_host_, options_.protocols);
    }
    context_.pes.push_back(pes_.back().get());
  }
  if (plan_.pes > 1 && options_.task_stealing)
    context_.helpers =
        std::make_unique<task_stealing>(std::vector<executor*>(context_.pes.begin(), context_.pes.end()));
  if (options_.device == "cuda") open_cuda();
  if (options_.device == "opencl") open_opencl();
  if (context_.transport != nullptr) {
    delivery to;
    to.first_pe = context_.first_pe();
    for (scheduler* pe : context_.pes) to.pes.push_back(pe);
    to.act = &scheduler::receive;
    context_.transport->start(to);
  }
  std::vector<std::thread> threads;
  for (std::size_t i = 1; i < pes_.size(); ++i) threads.emplace_back([this, i, &main] { pe_thread(i, main); });
  pe_thread(0, main);
  for (std::thread& t : threads) t.join();
  unpin_this_thread();
#if IMBREX_HAVE_CUDA
  if (gpus_) gpus_->log_memory();
#endif
#if IMBREX_HAVE_OPENCL
  if (opencl_) opencl_->log_memory();
#endif
  return code_after_reports();
}

// What ranks gather at the end they gather by what they agreed on, not by what each of them saw.
int rank_run::code_after_reports() {
  const job_end end = agreed_end(end_, context_.end.get());
  if (end_.failed && context_.transport != nullptr) return end.code;  // others may not be there any more
  bool written = write_trace();
  if (!end_.failed) written = write_costs() && written;
  if (context_.transport != nullptr && (recorder_ != nullptr || costs_ != nullptr))
    from_bytes(context_.transport->all_gather(to_bytes(written))[0], written);
  return written || end.code != 0 ? end.code : 1;
}

// Rank 0 reads the file; its sizes are everyone's.
void rank_run::settle_protocols() {
  protocol_table& mine = options_.protocols;
  const protocol_table::way forced = mine.forced;
  if (context_.rank == 0) {
    const protocol_reading read = read_protocols(options_.protocols_file, transport_->name(), machine_name());
    for (const std::string& w : read.warnings) log_warning(w);
    mine = read.table;
    log_debug(fmt::format("protocols: {} ({})", to_text(mine), read.source));
  }
  from_bytes(transport_->all_gather(to_bytes(mine))[0], mine);
  mine.forced = forced;
}

/// Ranks that use the same devices share their memory, too.
void rank_run::share_devices(std::vector<std::string> names) {
  if (context_.transport == nullptr) return;
  const devices_in_use mine{name_of_this_machine(), std::move(names)};
  std::vector<devices_in_use> all;
  for (const auto& bytes : context_.transport->all_gather(to_bytes(mine))) from_bytes(bytes, all.emplace_back());
  context_.tasks.sharing *= num_ranks_sharing(all, static_cast<std::size_t>(context_.rank));
}

std::vector<int> rank_run::parse_gpu_map(std::size_t num_gpus) const {
  std::vector<int> map;
  std::istringstream in(options_.gpu_map);
  const auto gpus = static_cast<int>(num_gpus);
  for (std::string item; std::getline(in, item, ',');) {
    int gpu = -1;
    const auto [at, error] = std::from_chars(item.data(), item.data() + item.size(), gpu);
    if (error != std::errc{} || at != item.data() + item.size() || gpu < 0 || gpu >= gpus) {
      throw config_error(
          fmt::format("--imbrex-gpu-map {}: '{}' is none of the {} GPUs of a rank, which are counted "
                      "from 0",
                      options_.gpu_map, item, gpus));
    }
    map.push_back(gpu);
  }
  if (static_cast<int>(map.size()) != plan_.pes) {
    throw config_error(fmt::format("--imbrex-gpu-map {} names {} GPUs: name one for each of the {} PEs of a rank",
                                   options_.gpu_map, map.size(), plan_.pes));
  }
  return map;
}

#if IMBREX_HAVE_CUDA
void rank_run::open_cuda() {
  const int local_ranks = transport_ != nullptr ? transport_->num_local_ranks() : 1;
  const int local_rank = transport_ != nullptr ? transport_->local_rank() : 0;
  const std::vector<int> numbers = cuda_devices::choose(options_.gpus, local_rank, local_ranks);
  std::vector<int> map;
  if (!options_.gpu_map.empty()) {
    map = parse_gpu_map(numbers.size());
  } else {
    std::vector<int> processors;
    processors.reserve(pes_.size());
    for (int i = 0; i < plan_.pes; ++i)
      processors.push_back(plan_.pin ? processor_for_pe(i, plan_.pes, local_rank, local_ranks) : -1);
    map = cuda_devices::map_by_topology(numbers, processors);
  }
  gpus_ = std::make_unique<cuda_devices>(numbers, map, options_.completion, options_.kernels_wait, recorder_.get());
  for (std::size_t i = 0; i < pes_.size(); ++i) {
    gpus_->add_pe(*pes_[i]);
    pes_[i]->default_device = &gpus_->of_pe(i);
    pes_[i]->gpus = gpus_->all_of_pe(i);
  }
  context_.gpu_of_pe = std::move(map);
  share_devices(gpus_->bus_ids());
  if (context_.transport == nullptr) return;
  const memory_sharing sharing = agree_on_sharing(*context_.transport, same_host_, pes_[0]->gpus);
  for (const auto& pe : pes_) pe->mover->use(sharing);
  gpus_->watch_memory(
      [t = context_.transport](std::byte* start, std::size_t bytes, memory_kind kind, int gpu, bool comes) {
        if (comes) {
          t->add_memory({start, bytes, kind, gpu});
        } else {
          t->forget_memory(start);
        }
      });
}
#else
void rank_run::open_cuda() {}  // settle_devices has refused
#endif

#if IMBREX_HAVE_OPENCL
void rank_run::open_opencl() {
  const int local_ranks = transport_ != nullptr ? transport_->num_local_ranks() : 1;
  const int local_rank = transport_ != nullptr ? transport_->local_rank() : 0;
  const std::vector<int> numbers = opencl_devices::choose(options_.gpus, local_rank, local_ranks);
  std::vector<int> map = options_.gpu_map.empty()
                             ? opencl_devices::map_in_blocks(static_cast<int>(numbers.size()), plan_.pes)
                             : parse_gpu_map(numbers.size());
  opencl_ = std::make_unique<opencl_devices>(numbers, map);
  for (std::size_t i = 0; i < pes_.size(); ++i) {
    opencl_->add_pe(*pes_[i]);
    pes_[i]->default_device = &opencl_->of_pe(i);
    pes_[i]->gpus = opencl_->all_of_pe(i);
    if (pes_[i]->mover != nullptr) pes_[i]->mover->stage_device_memory();
  }
  context_.gpu_of_pe = std::move(map);
  std::vector<std::string> names;
  names.reserve(numbers.size());
  for (const int n : numbers) names.push_back(std::to_string(n));
  share_devices(std::move(names));
}
#else
void rank_run::open_opencl() {}  // settle_devices has refused
#endif

void rank_run::pe_thread(std::size_t i, const main_function& main) {
  scheduler& pe = *pes_[i];
  const int local_ranks = transport_ != nullptr ? transport_->num_local_ranks() : 1;
  const int local_rank = transport_ != nullptr ? transport_->local_rank() : 0;
  if (context_.num_ranks > 1) set_thread_log_rank(context_.rank);
  if (plan_.pin) {
    const int processor = processor_for_pe(static_cast<int>(i), plan_.pes, local_rank, local_ranks);
    if (processor >= 0) pin_this_thread(processor);
  }
  pe.bind_to_this_thread();
#if IMBREX_HAVE_CUDA
  if (gpus_) gpus_->bind_to_this_thread(i);
#endif
  if (pe.id() == 0) start_main(pe, main);
  pe.run();

  wait_for_stop();
  if (i == 0) end_ = agree_on_end();
  meet();
  pe.discard_queued();
  meet();
  pe.destroy_objects();
  meet();
  pe.destroy_collections();
  meet();
  pe.unbind_from_this_thread();
  meet();
}

job_end rank_run::agree_on_end() {
  const job_end mine = context_.end.get();
  if (context_.transport == nullptr) return mine;
  try {
    return context_.transport->stop(mine);
  } catch (const std::exception& e) {
    std::fprintf(stderr, "imbrex: error: %s\n", e.what());
    return {true, mine.code != 0 ? mine.code : 1};
  }
}

void rank_run::start_main(scheduler& pe, const main_function& main) {
  try {
    entry_activity::start(pe, nullptr, main_chare_name, main(*facade_, arguments_), reply_to{},
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

// All PEs of the rank, phase by phase.
void rank_run::meet() {
  const int n = plan_.pes;
  const int mine = arrived_.fetch_add(1, std::memory_order_acq_rel);
  const int all = (mine / n + 1) * n;
  while (arrived_.load(std::memory_order_acquire) < all) sched_yield();
}

// As `meet`; but after a failure a PE may be stuck in a user's endless loop.
void rank_run::wait_for_stop() {
  const int n = plan_.pes;
  const int mine = arrived_.fetch_add(1, std::memory_order_acq_rel);
  const int all = (mine / n + 1) * n;
  const std::int64_t start = now_ns();
  while (arrived_.load(std::memory_order_acquire) < all) {
    if (now_ns() - start < 1'000'000) {
      sched_yield();
    } else {
      usleep(100);
    }
    const job_end end = context_.end.get();
    if (!end.failed || now_ns() - start < patience_ns) continue;
    std::fprintf(stderr, "imbrex: error: a PE of rank %d did not come back within 5 s of the failure: giving up\n",
                 context_.rank);
    std::fflush(nullptr);
    if (context_.transport != nullptr) context_.transport->abort(end.code);
    std::_Exit(end.code);
  }
}

// False when rank 0 could not write the file.
bool rank_run::write_trace() {
  if (!recorder_) return true;
#if IMBREX_HAVE_CUDA
  if (gpus_) gpus_->finish_trace();
#endif
  const std::string mine = recorder_->json_fragment();
  std::vector<std::string> fragments{mine};
  if (context_.transport != nullptr) {
    fragments.clear();
    for (const auto& bytes : context_.transport->all_gather(to_bytes(mine)))
      from_bytes(bytes, fragments.emplace_back());
  }
  if (context_.rank != 0) return true;
  try {
    trace_recorder::write_file(options_.trace, fragments);
  } catch (const std::exception& e) {
    std::fprintf(stderr, "imbrex: error: %s\n", e.what());
    return false;
  }
  return true;
}

// Rank 0 writes what all have learnt; false when it could not.
bool rank_run::write_costs() {
  if (costs_ == nullptr) return true;
  std::vector<std::string> news{costs_->news()};
  if (context_.transport != nullptr) {
    const auto all = context_.transport->all_gather(to_bytes(news[0]));
    news.clear();
    for (const auto& bytes : all) from_bytes(bytes, news.emplace_back());
  }
  if (context_.rank != 0) return true;
  try {
    costs_->write(news);
  } catch (const std::exception& e) {
    std::fprintf(stderr, "imbrex: error: %s\n", e.what());
    return false;
  }
  return true;
}

}  // namespace imbrex::detail
