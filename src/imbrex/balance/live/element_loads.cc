#include "imbrex/balance/live/element_loads.h"

#include <algorithm>
#include <cmath>
#include <map>

#include <fmt/format.h>

#include "imbrex/balance/live/pe_rates.h"
#include "imbrex/base/log_once.h"
#include "imbrex/object/collection/collection.h"
#include "imbrex/object/collection/entry_activity.h"
#include "imbrex/object/entry/element_identity.h"
#include "imbrex/object/load/element_sizes.h"
#include "imbrex/object/moving/binding.h"

namespace imbrex {

namespace {

bool crosses_processes(const collection& part, const element_base& e) {
  if (!part.is_serialized()) return false;
  for (const entry_activity* a = e.activities; a != nullptr; a = a->following) {
    if (!part.is_restartable(*a)) return false;
  }
  return true;
}

/// Once for a class.
void warn_of_immovable(const collection& part) {
  log_warning_once(fmt::format(
      "--imbrex-balance leaves all elements of {} where they are: in a process with several GPUs, or with coherent "
      "objects or tasks, only those move whose class has a default constructor and a serialize member",
      part.chare_name()));
}

constexpr std::uint32_t most_gpus_of_rank = 4096;

/// Of each GPU from when until when all PEs that use it took their samples.
std::map<std::uint32_t, std::pair<std::int64_t, std::int64_t>> windows_of(const std::vector<gpu_operations>& all) {
  std::map<std::uint32_t, std::pair<std::int64_t, std::int64_t>> windows;
  for (const gpu_operations& some : all) {
    if (some.all.empty()) continue;
    const std::int64_t from = std::ranges::min(some.all, {}, &timed_operation::begin_ns).begin_ns;
    const std::int64_t until = std::ranges::max(some.all, {}, &timed_operation::end_ns).end_ns;
    const auto [at, is_new] = windows.try_emplace(some.gpu, from, until);
    if (!is_new) at->second = {std::max(at->second.first, from), std::min(at->second.second, until)};
  }
  return windows;
}

}  // namespace

element_loads& element_loads::operator+=(element_loads&& more) {
  const auto before = static_cast<std::uint32_t>(all.size());
  all.insert(all.end(), more.all.begin(), more.all.end());
  pes.insert(pes.end(), more.pes.begin(), more.pes.end());
  for (gpu_operations& of_gpu : more.operations) {
    for (timed_operation& o : of_gpu.all) o.whose += before;
    operations.push_back(std::move(of_gpu));
  }
  exchanges.insert(exchanges.end(), more.exchanges.begin(), more.exchanges.end());
  return *this;
}

void share_gpus_out(element_loads& loads) {
  std::map<std::uint32_t, std::vector<timed_operation>> of_gpu;
  const auto windows = windows_of(loads.operations);
  for (const gpu_operations& some : loads.operations) {
    if (some.all.empty()) continue;
    const auto& [from, until] = windows.at(some.gpu);
    for (const timed_operation& o : some.all) {
      const timed_operation seen{std::max(o.begin_ns, from), std::min(o.end_ns, until), o.whose};
      if (seen.begin_ns < seen.end_ns) of_gpu[some.gpu].push_back(seen);
    }
  }
  std::map<pe_id, std::int64_t> interval_of;
  for (const measured_pe& p : loads.pes) interval_of[p.pe] = p.interval_ns;
  for (auto& [gpu, all] : of_gpu) {
    const device_shares shares = shares_of(all, loads.all.size());
    if (shares.span_ns == 0) continue;
    for (std::size_t i = 0; i < loads.all.size(); ++i) {
      if (shares.busy_ns[i] == 0) continue;
      const double share = static_cast<double>(shares.busy_ns[i]) / static_cast<double>(shares.span_ns);
      loads.all[i].gpu_ns += static_cast<std::int64_t>(share * static_cast<double>(interval_of[loads.all[i].pe]));
    }
  }
  loads.operations.clear();
}

void refer_to_the_fastest(element_loads& loads, bool speeds_are_measured) {
  std::vector<double> hosts, gpus;
  for (const measured_pe& p : loads.pes) {
    hosts.push_back(p.speed);
    gpus.push_back(p.gpu_speed);
  }
  hosts = rates_of(std::move(hosts), speeds_are_measured);
  gpus = rates_of(std::move(gpus), true);
  std::unordered_map<pe_id, const measured_pe*> of_pe;
  for (std::size_t i = 0; i < loads.pes.size(); ++i) {
    loads.pes[i].speed = hosts[i];
    loads.pes[i].gpu_speed = gpus[i];
    of_pe[loads.pes[i].pe] = &loads.pes[i];
  }
  const auto scaled = [](std::int64_t ns, double rate) {
    return static_cast<std::int64_t>(std::llround(static_cast<double>(ns) * rate));
  };
  for (element_load& l : loads.all) {
    const measured_pe& p = *of_pe.at(l.pe);
    if (p.speed != 1) l.host_ns = scaled(l.host_ns, p.speed);
    if (p.gpu_speed != 1) l.gpu_ns = scaled(l.gpu_ns, p.gpu_speed);
  }
}

void add_operations(element_loads& loads, const scheduler& pe, usage_meter* meter,
                    const std::vector<measured_element>& measured) {
  if (meter == nullptr) return;
  const std::uint32_t first = static_cast<std::uint32_t>(pe.rank().rank) * most_gpus_of_rank;
  loads.pes.back().gpu = static_cast<std::int32_t>(first) + pe.default_device->number();
  const memory_info memory = pe.default_device->memory();
  loads.pes.back().gpu_free_bytes = memory.free;
  loads.pes.back().gpu_speed = memory.bytes_per_second;
  std::unordered_map<const actor*, std::uint32_t> place;
  for (std::size_t i = 0; i < measured.size(); ++i) place[measured[i].element] = static_cast<std::uint32_t>(i);
  std::map<int, std::vector<timed_operation>> of_gpu;
  for (const device_operation& o : meter->measured()) {
    if (const auto known = place.find(o.of); known != place.end())
      of_gpu[o.device].push_back({o.begin_ns, o.end_ns, known->second});
  }
  for (auto& [gpu, all] : of_gpu) loads.operations.push_back({first + static_cast<std::uint32_t>(gpu), std::move(all)});
  // Some rounds of what each element does, and a bound for those who have many.
  meter->measure(std::clamp<std::size_t>(16 * measured.size(), 64, 4096));
}

element_loads loads_of(const chare_pe& pe, const std::unordered_map<const actor*, std::int64_t>& times,
                       std::vector<measured_element>& measured) {
  element_loads loads;
  measured.clear();
  const bool only_serialised = serialises_moves(pe);
  pe.for_each_part([&](collection& part) {
    for (element_base* e : part.here()) {
      element_load l;
      l.identity = identity_of(*e);
      l.pe = pe.id();
      if (const auto known = times.find(e); known != times.end()) l.host_ns = known->second;
      l.pinned = part.stays() || (e->extras && e->extras->pinned);
      l.crosses_processes = crosses_processes(part, *e);
      if (only_serialised && !l.crosses_processes && !l.pinned) {
        l.pinned = true;
        if (l.host_ns > 0 && !part.is_serialized()) warn_of_immovable(part);
      }
      l.num_dimensions = part.place_of(*e, l.place);
      loads.all.push_back(l);
      measured.push_back({e, e->epoch});
    }
  });
  return loads;
}

void add_sizes(element_loads& loads, chare_pe& pe, const std::vector<measured_element>& measured, bool anew) {
  if (anew) ++pe.sizes_asked;
  for (std::size_t i = 0; i < measured.size(); ++i) {
    element_base& e = *measured[i].element;
    if (e.activities == nullptr) detail::note_size(e);
    if (!e.extras) continue;
    loads.all[i].host_bytes = e.extras->size.size.on_host;
    loads.all[i].device_bytes = e.extras->size.size.on_devices;
  }
}

void add_exchanges(element_loads& loads, chare_pe& pe, const std::vector<measured_element>& measured) {
  element_traffic& traffic = *element_traffic::of(pe);
  for (const measured_element& m : measured) traffic.add_channels(*m.element);
  loads.exchanges = traffic.take(std::clamp<std::size_t>(64 * measured.size(), 1024, 65536));
}

}  // namespace imbrex
