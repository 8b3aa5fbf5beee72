#include "imbrex/runtime/rank_start.h"

#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "imbrex/base/clock.h"
#include "imbrex/base/error.h"
#include "imbrex/base/log.h"
#include "imbrex/base/serialize.h"
#include "imbrex/base/topology.h"
#include "imbrex/comm/data/protocol_file.h"
#include "imbrex/object/program_digest.h"
#include "imbrex/runtime/pe_devices.h"
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
    f.devices = {name_of_this_machine(),
                 choose_devices(options, t != nullptr ? t->local_rank() : 0, f.local_ranks).names};
    f.pes = options.pes;
    f.cores = available_cores();
    if (t == nullptr || t->num_ranks() == 1) return f;
    f.processors = processors_in_pinning_order();
    if (!is_first) return f;
    f.protocols = read_protocol_table(options, *t);
    if (!t->shares_process()) f.readonly_values = readonly_base::save_all();
  } catch (const error& e) {
    f.error_kind = e.kind();
    f.error_text = e.what();
  }
  return f;
}

rank_agreement agree(const std::vector<rank_facts>& all, std::size_t mine, const runtime_options& options,
                     bool one_process) {
  for (const rank_facts& f : all) {
    if (!f.error_kind.empty()) throw_error(f.error_kind, f.error_text);
  }
  check_equal(all);
  std::map<std::string, std::vector<const rank_facts*>> of_host;
  for (const rank_facts& f : all) of_host[f.devices.machine].push_back(&f);
  rank_agreement a;
  std::vector<int> pes;
  std::vector<devices_in_use> devices;
  for (const rank_facts& f : all) {
    runtime_options theirs = options;
    theirs.pes = f.pes;
    const pe_plan plan = plan_pes(theirs, f.cores, f.local_ranks, cores_are_shared(of_host.at(f.devices.machine), f));
    if (&f == &all[mine]) a.plan = plan;
    pes.push_back(plan.pes);
    devices.push_back(f.devices);
    const auto first =
        std::ranges::find_if(all, [&](const rank_facts& other) { return other.devices.machine == f.devices.machine; });
    a.host_of_rank.push_back(static_cast<int>(first - all.begin()));
    a.same_host.push_back(!one_process && f.devices.machine == all[mine].devices.machine);
  }
  check_equal(pes);
  a.num_sharing_devices = num_ranks_sharing(devices, mine);
  a.began_ns = all[0].now_ns;
  a.readonly_values = all[0].readonly_values;
  a.protocols = all[0].protocols;
  return a;
}

rank_agreement agree_on_start(runtime_options& options, transport* t, const std::string& command_line) {
  const rank_facts mine = facts_of_this_rank(options, t, command_line);
  if (t == nullptr || t->num_ranks() == 1) return agree({mine}, 0, options, true);
  std::vector<rank_facts> all;
  for (const auto& bytes : t->all_gather(to_bytes(mine))) from_bytes(bytes, all.emplace_back());
  return agree(all, static_cast<std::size_t>(t->rank()), options, t->shares_process());
}

}  // namespace imbrex::detail
