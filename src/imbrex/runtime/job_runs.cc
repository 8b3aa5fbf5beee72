#include "imbrex/runtime/job_runs.h"

#include <algorithm>
#include <cstdio>
#include <thread>

#include "imbrex/base/address_watch.h"
#include "imbrex/base/hash.h"
#include "imbrex/base/log.h"
#include "imbrex/checkpoint/memory/rank_memory.h"
#include "imbrex/comm/loopback/loopback_transport.h"
#include "imbrex/comm/rank_lost.h"
#include "imbrex/runtime/make_transport.h"
#include "imbrex/runtime/rank_run.h"

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

}  // namespace

int run_in_one_process(const runtime_options& options, const job_to_run& job) {
  runtime_options o = options;
  memories memory;
  for (int r = 0; r < o.ranks; ++r) memory.push_back(memory_for(o));
  for (int run = 0;; ++run) {
    rank_id lost = -1;
    const std::vector<int> codes = run_once(o, run, job, memory, lost);
    const auto failed = std::ranges::find_if(codes, [](int code) { return code != 0 && code != begin_again; });
    if (failed != codes.end()) return *failed;
    if (std::ranges::find(codes, begin_again) == codes.end()) return 0;
    for (const auto& m : memory) m->num_ranks_before = o.ranks;
    if (lost >= 0) memory.erase(memory.begin() + lost);  // with all that it had
    o.ranks = static_cast<int>(memory.size());
    if (memory.front()->next_pes > 0) o.pes = memory.front()->next_pes;
  }
}

int run_in_processes(const runtime_options& options, std::unique_ptr<transport>& t, const job_to_run& job) {
  runtime_options o = options;
  if (o.checkpoint.in_memory()) check_can_go_on(t.get());
  const std::unique_ptr<rank_memory> memory = memory_for(o);
  while (true) {
    std::unique_ptr<rank_run> rank;
    const int code = agreed_code(t.get(), run_rank(rank, o, t.get(), job, *memory), o.checkpoint.in_memory());
    if (code != begin_again) return code;
    rank.reset();
    memory->num_ranks_before = t != nullptr ? t->num_ranks() : 1;
    if (memory->next_pes > 0) o.pes = memory->next_pes;
    if (t != nullptr) t = those_left(std::move(t));
  }
}

}  // namespace imbrex::detail
