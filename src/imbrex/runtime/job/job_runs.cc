#include "imbrex/runtime/job/job_runs.h"

#include <algorithm>
#include <cstdio>
#include <thread>

#include <fmt/format.h>

#include "imbrex/base/address_watch.h"
#include "imbrex/base/clock.h"
#include "imbrex/base/hash.h"
#include "imbrex/base/log.h"
#include "imbrex/checkpoint/memory/rank_memory.h"
#include "imbrex/comm/loopback/loopback_transport.h"
#include "imbrex/comm/rank_lost.h"
#include "imbrex/runtime/job/make_transport.h"
#include "imbrex/runtime/rank/rank_run.h"

namespace imbrex::detail {

namespace {

/// One rank of one run, kept in `rank`; errors before the PEs run are reported by rank 0 alone.
int run_rank(std::unique_ptr<rank_run>& rank, const runtime_options& options, transport* t, const job_to_run& job,
             rank_memory& memory) {
  try {
    rank = std::make_unique<rank_run>(options, t, job.arguments, &memory);
    rank->agree(job.command_line);
    return rank->run(job.main);
  } catch (const rank_lost&) {
    return begin_again;
  } catch (const error& e) {
    if (t == nullptr || t->rank() == 0) std::fprintf(stderr, "imbrex: error: %s\n", e.what());
    return e.exit_code();
  }
}

std::unique_ptr<rank_memory> memory_for(const runtime_options& o) {
  auto memory = std::make_unique<rank_memory>();
  memory->group_size = o.checkpoint.memory_group;
  memory->num_parity = o.checkpoint.memory_parity;
  return memory;
}

loopback_options network_options(const runtime_options& o, int run) {
  loopback_options network{.seed = o.loopback_seed, .max_delay_us = o.loopback_delay_us, .reorder = o.loopback_reorder};
  if (o.loopback_lose_after == 0 || o.ranks == 1) return network;
  random_sequence random(mix(o.loopback_seed + 1000 * static_cast<std::uint64_t>(run)));
  network.lost = static_cast<rank_id>(random.below(static_cast<std::uint64_t>(o.ranks)));
  const auto least = static_cast<std::uint64_t>(o.loopback_lose_after);
  network.lost_after = least + random.below(least);
  network.can_go_on = o.checkpoint.in_memory();
  return network;
}

using memories = std::vector<std::unique_ptr<rank_memory>>;

/// One run; the exit codes of its ranks. `lost`: who was; negative: nobody.
std::vector<int> run_once(const runtime_options& o, int run, const job_to_run& job, const memories& memory,
                          rank_id& lost) {
  const auto network = std::make_shared<loopback_network>(o.ranks, network_options(o, run));
  const auto n = static_cast<std::size_t>(o.ranks);
  std::vector<int> codes(n, 0);
  std::vector<std::unique_ptr<loopback_transport>> transports(n);
  // Messages between ranks live in the memory of the sender's PEs: no rank goes before all threads have ended.
  std::vector<std::unique_ptr<rank_run>> ranks(n);
  auto one = [&](std::size_t r) {
    transports[r] = std::make_unique<loopback_transport>(network, static_cast<rank_id>(r));
    codes[r] = run_rank(ranks[r], o, transports[r].get(), job, *memory[r]);
  };
  std::vector<std::thread> threads;
  address_watch::turn(true);
  for (std::size_t r = 1; r < n; ++r) threads.emplace_back(one, r);
  one(0);
  for (std::thread& t : threads) t.join();
  address_watch::turn(false);
  lost = network->lost_rank();
  return codes;
}

/// With all that the rank had. A spare one has nothing, but knows what a process would be told.
void lose(memories& memory, std::size_t lost, int& spares, const runtime_options& o) {
  if (spares == 0) {
    memory.erase(memory.begin() + static_cast<std::ptrdiff_t>(lost));
    return;
  }
  --spares;
  const rank_memory old = std::move(*memory[lost]);
  memory[lost] = memory_for(o);
  memory[lost]->num_runs = old.num_runs;
  memory[lost]->next_pes = old.next_pes;
  memory[lost]->num_ranks_before = old.num_ranks_before;
  memory[lost]->num_replaced = old.num_replaced;
  memory[lost]->stopped_at_ns = old.stopped_at_ns;
}

}  // namespace

int run_in_one_process(const runtime_options& options, const job_to_run& job) {
  runtime_options o = options;
  int spares = o.checkpoint.spare_ranks;
  if (spares >= o.ranks) {
    throw config_error(
        fmt::format("--imbrex-spare-ranks={}: there are {} ranks, of which one at least is to work", spares, o.ranks));
  }
  o.ranks -= spares;
  memories memory;
  for (int r = 0; r < o.ranks; ++r) memory.push_back(memory_for(o));
  for (int run = 0;; ++run) {
    rank_id lost = -1;
    const std::vector<int> codes = run_once(o, run, job, memory, lost);
    const auto failed = std::ranges::find_if(codes, [](int code) { return code != 0 && code != begin_again; });
    if (failed != codes.end()) return *failed;
    if (std::ranges::find(codes, begin_again) == codes.end()) return 0;
    if (job.main.between_runs) job.main.between_runs();
    for (const auto& m : memory) m->num_ranks_before = o.ranks;
    if (memory.front()->next_pes > 0) o.pes = memory.front()->next_pes;
    for (const auto& m : memory) m->num_replaced = lost >= 0 && spares > 0 ? 1 : 0;
    if (lost >= 0) lose(memory, static_cast<std::size_t>(lost), spares, o);
    o.ranks = static_cast<int>(memory.size());
  }
}

int run_in_processes(const runtime_options& options, std::unique_ptr<transport>& t, const job_to_run& job) {
  runtime_options o = options;
  if (o.checkpoint.in_memory()) check_can_go_on(t.get(), o.checkpoint.spare_ranks);
  const std::unique_ptr<rank_memory> memory = memory_for(o);
  while (true) {
    std::unique_ptr<rank_run> rank;
    const int own_code = is_spare(t.get()) ? 0 : run_rank(rank, o, t.get(), job, *memory);
    const int code = agreed_code(t.get(), own_code, o.checkpoint.in_memory());
    if (code != begin_again) return code;
    if (rank == nullptr) memory->stopped_at_ns = now_ns();
    rank.reset();
    if (job.main.between_runs) job.main.between_runs();
    memory->num_ranks_before = t != nullptr ? t->num_ranks() : 1;
    if (t != nullptr) t = those_left(std::move(t));
    if (o.checkpoint.spare_ranks > 0 && !is_spare(t.get())) memory->share_with_new_ranks(*t);
    if (memory->next_pes > 0) o.pes = memory->next_pes;
  }
}

}  // namespace imbrex::detail
