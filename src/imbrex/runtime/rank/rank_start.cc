#include "imbrex/runtime/rank/rank_start.h"

#include <algorithm>
#include <string_view>
#include <unordered_map>
#include <utility>

#include <fmt/format.h>

#include "imbrex/balance/live/pe_rates.h"
#include "imbrex/base/clock.h"
#include "imbrex/base/error.h"
#include "imbrex/base/log.h"
#include "imbrex/base/serialize.h"
#include "imbrex/base/topology.h"
#include "imbrex/comm/data/protocol_file.h"
#include "imbrex/object/program_digest.h"
#include "imbrex/runtime/rank/pe_devices.h"
#include "imbrex/runtime/readonly.h"

namespace imbrex::detail {

namespace {

protocol_table read_protocol_table(const runtime_options& options, const transport& t) {
  const protocol_reading read = read_protocols(options.protocols_file, t.name(), machine_name());
  for (const std::string& w : read.warnings) log_warning(w);
  log_debug(fmt::format("protocols: {} ({})", to_text(read.table), read.source));
  return read.table;
}

bool share_processors(const rank_facts& a, const rank_facts& b) {
  return std::ranges::find_first_of(a.processors, b.processors) != a.processors.end();
}

/// Launchers give the ranks of a host either all its cores or each its own.
bool cores_are_shared(const std::vector<const rank_facts*>& of_host, const rank_facts& r) {
  return r.local_ranks > 1 && std::ranges::any_of(of_host, [&](const rank_facts* other) {
           return other != &r && share_processors(*other, r);
         });
}

void check_equal(const std::vector<rank_facts>& all) {
  const rank_facts& first = all[0];
  for (std::size_t r = 1; r < all.size(); ++r) {
    if (all[r].program != first.program) {
      throw config_error(
          fmt::format("rank {} runs another program than rank 0: start all ranks from the same build", r));
    }
    if (all[r].command_line != first.command_line) {
      throw config_error(fmt::format("rank {} was started with '{}', rank 0 with '{}': give all ranks the same options",
                                     r, all[r].command_line, first.command_line));
    }
  }
}

void check_equal(const std::vector<int>& pes) {
  for (std::size_t r = 1; r < pes.size(); ++r) {
    if (pes[r] == pes[0]) continue;
    throw config_error(fmt::format(
        "rank {} would have {} PEs, rank 0 has {}: give all ranks the same cores, or --imbrex-pes", r, pes[r], pes[0]));
  }
}

}  // namespace

rank_facts facts_of_this_rank(runtime_options& options, transport* t, const std::string& command_line) {
  rank_facts f;
  f.command_line = command_line;
  f.local_ranks = t != nullptr ? t->num_local_ranks() : 1;
  f.now_ns = now_ns();
  const bool is_first = t == nullptr || t->rank() == 0;
  try {
    choose_device_kind(options, f.local_ranks, is_first);
    f.program = program_digest();
    const std::string simulated = t != nullptr ? t->simulated_host() : "";
    f.devices = {simulated.empty() ? name_of_this_machine() : simulated,
                 choose_devices(options, t != nullptr ? t->local_rank() : 0, f.local_ranks).names};
    f.pes = options.pes;
    f.cores = available_cores();
    if (t == nullptr || t->num_ranks() == 1) return f;
    if (!options.virtual_time.is_wanted()) f.processors = processors_in_pinning_order();
    if (!is_first) return f;
    f.protocols = read_protocol_table(options, *t);
    if (!t->shares_process()) f.readonly_values = readonly_base::save_all();
  } catch (const error& e) {
    f.error_kind = e.kind();
    f.error_text = e.what();
  }
  return f;
}

agreement_of_all agree(std::vector<rank_facts> facts, const runtime_options& options) {
  for (const rank_facts& f : facts) {
    if (!f.error_kind.empty()) throw_error(f.error_kind, f.error_text);
  }
  check_equal(facts);
  struct host {
    int first = 0;
    std::vector<const rank_facts*> ranks;
  };
  std::unordered_map<std::string_view, host> hosts;
  for (std::size_t r = 0; r < facts.size(); ++r) {
    host& h = hosts[facts[r].devices.machine];
    if (h.ranks.empty()) h.first = static_cast<int>(r);
    h.ranks.push_back(&facts[r]);
  }
  agreement_of_all all;
  std::vector<int> pes;
  runtime_options theirs = options;
  for (const rank_facts& f : facts) {
    theirs.pes = f.pes;
    const host& h = hosts.at(f.devices.machine);
    all.plans.push_back(plan_pes(theirs, f.cores, f.local_ranks, cores_are_shared(h.ranks, f)));
    all.hosts.push_back(h.first);
    pes.push_back(all.plans.back().pes);
  }
  check_equal(pes);
  if (!options.balance.strategy.empty()) check_pe_rates(options.balance.rates, pes[0] * static_cast<int>(facts.size()));
  all.facts = std::move(facts);
  return all;
}

rank_agreement agreement_of(const agreement_of_all& all, std::size_t mine, bool one_process) {
  rank_agreement a;
  a.plan = all.plans[mine];
  a.host_of_rank = all.hosts;
  std::vector<devices_in_use> of_my_host;
  std::size_t my_place = 0;
  for (std::size_t r = 0; r < all.hosts.size(); ++r) {
    const bool same = all.hosts[r] == all.hosts[mine];
    a.same_host.push_back(same && !one_process);
    if (r == mine) my_place = of_my_host.size();
    if (same) of_my_host.push_back(all.facts[r].devices);
  }
  a.num_sharing_devices = num_ranks_sharing(of_my_host, my_place);
  a.began_ns = all.facts[0].now_ns;
  a.readonly_values = all.facts[0].readonly_values;
  a.protocols = all.facts[0].protocols;
  return a;
}

rank_agreement agree(const std::vector<rank_facts>& all, std::size_t mine, const runtime_options& options,
                     bool one_process) {
  return agreement_of(agree(all, options), mine, one_process);
}

rank_agreement agree_on_start(runtime_options& options, transport* t, const std::string& command_line,
                              std::optional<agreement_of_all>* once) {
  const rank_facts mine = facts_of_this_rank(options, t, command_line);
  if (t == nullptr || t->num_ranks() == 1) return agree({mine}, 0, options, true);
  const auto gathered = t->all_gather(to_bytes(mine));
  std::optional<agreement_of_all> own;
  std::optional<agreement_of_all>& all = once != nullptr ? *once : own;
  if (!all) {
    std::vector<rank_facts> facts;
    for (const auto& bytes : gathered) from_bytes(bytes, facts.emplace_back());
    all = agree(std::move(facts), options);
  }
  const bool one_process = t->shares_process() && t->simulated_host().empty();
  return agreement_of(*all, static_cast<std::size_t>(t->rank()), one_process);
}

}  // namespace imbrex::detail
