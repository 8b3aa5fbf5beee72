#include "mpi_check_advice.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

namespace mpi_check {

namespace {

using json = nlohmann::ordered_json;

/// What the library takes to answer a query itself (docs/sessions.md, "What it costs").
constexpr double answer_s = 10e-9;

/// What declarations speak of: managed memory is neither's.
std::string processor_of(const std::string& memory) {
  if (memory == "managed") return "";
  return memory == "device" ? "GPU" : "CPU";
}

/// One cell of the report: a kind of memory in a direction on a communicator. Where queries took no time, all are
/// alike.
double weight_of(const json& cell, bool timed) { return timed ? cell["query_ns"] : cell["checks"]; }

bool was_timed(const json& cells) {
  return std::ranges::any_of(cells, [](const json& c) { return c["query_ns"].get<double>() > 0; });
}

std::vector<kind_cost> costs_of(const json& cells, const std::optional<long>& delay_ns) {
  std::map<std::string, kind_cost> by_kind;
  std::map<std::string, double> ns, injected;
  for (const json& c : cells) {
    const std::string memory = c["memory"];
    by_kind[memory].memory = memory;
    by_kind[memory].checks += c["checks"].get<double>();
    ns[memory] += c["query_ns"].get<double>();
    injected[memory] += c["injected"].get<double>();
  }
  std::vector<kind_cost> all;
  for (auto& [memory, cost] : by_kind) {
    cost.query_ns = ns[memory] > 0 ? ns[memory] / injected[memory] : static_cast<double>(delay_ns.value_or(0));
    all.push_back(cost);
  }
  return all;
}

/// The pattern of buffers that lie with these processors; empty where a direction has both, or managed memory.
std::string pattern_of(std::set<std::string> sent, std::set<std::string> received) {
  if (sent.empty()) sent = received;
  if (received.empty()) received = sent;
  if (sent.size() != 1 || received.size() != 1 || sent.begin()->empty() || received.begin()->empty()) return "";
  return fmt::format("MPI_{}_TO_{}", *sent.begin(), *received.begin());
}

std::vector<place_of_buffers> places_of(const json& cells) {
  std::vector<place_of_buffers> all;
  std::map<std::string, std::set<std::string>> sent, received;
  for (const json& c : cells) {
    const std::string where = c["where"];
    if (all.empty() || all.back().where != where)
      all.push_back({where, c["declared"].is_null() ? "" : c["declared"].get<std::string>(), "", 0});
    all.back().checks += c["checks"].get<double>();
    const std::string processor = processor_of(c["memory"]);
    if (c["direction"] != "received") sent[where].insert(processor);
    if (c["direction"] != "sent") received[where].insert(processor);
  }
  for (place_of_buffers& p : all) {
    if (p.where != "no communicator" && p.where != "all others")
      p.pattern = pattern_of(sent[p.where], received[p.where]);
  }
  std::ranges::sort(
      all, [](const auto& a, const auto& b) { return a.checks != b.checks ? a.checks > b.checks : a.where < b.where; });
  return all;
}

/// What part of the queries' time declarations could take away.
double declarable_part(const json& cells, const std::vector<place_of_buffers>& places) {
  const bool timed = was_timed(cells);
  double all = 0;
  double covered = 0;
  for (const json& c : cells) {
    const double weight = weight_of(c, timed);
    all += weight;
    const auto place = std::ranges::find(places, c["where"].get<std::string>(), &place_of_buffers::where);
    if (place != places.end() && !place->pattern.empty()) covered += weight;
  }
  return all > 0 ? covered / all : 0;
}

std::string common_pattern_of(const std::vector<place_of_buffers>& places) {
  if (places.empty()) return "";
  const bool alike = std::ranges::all_of(places, [&](const auto& p) { return p.pattern == places.front().pattern; });
  return alike ? places.front().pattern : "";
}

/// The first call, on any rank, after which the library could not know all memory; empty where it knows all.
std::string why_incomplete(const run& r) {
  for (const json& rank : r.report["per_rank"]) {
    if (!rank["watch_complete"]) return rank["incomplete_because"];
  }
  return "";
}

struct queries {
  double number = 0, seconds = 0, calls = 0;
};

queries asked(const summary& s, bool by_mpi) {
  queries q{by_mpi ? s.total.own_queries : s.total.checks, by_mpi ? s.total.own_query_s : s.total.injected_s, 0};
  for (const routine_summary& r : s.routines) {
    if ((by_mpi ? r.own_queries : r.checks) > 0) q.calls += r.calls;
  }
  return q;
}

/// What eliding returns of the queries' time without declarations that this command added by --pattern: those answer
/// nothing that the library would not know anyway, unless it does not see all memory.
double returned_by_eliding(const result& r, const queries& q, bool by_mpi, bool incomplete) {
  const series& elided = *r.find(by_mpi ? "own elided" : "elided");
  const json& total = elided.runs.back().report["total"];
  double left = total["driver"].get<double>();
  const double all = total["queries"].get<double>();
  if (incomplete && !r.asked.pattern.empty()) left += total["declared"].get<double>();
  const double part = all > 0 ? 1 - left / all : 0;
  return std::max(0.0, part * (q.seconds - answer_s * q.number));
}

void decide(advice& a, const std::string& incomplete) {
  using enum advice::verdict;
  const double best = std::max(a.elide_percent, a.declare_percent);
  if (a.lost_percent < least_percent) return;
  if (best < least_percent) {
    a.because = fmt::format("they take {:.2f} % of the run, but neither eliding nor a declaration returns {} %",
                            a.lost_percent, least_percent);
    return;
  }
  a.what = a.declare_percent - a.elide_percent < std::max(least_percent, 0.1 * a.declare_percent) ? elide : declare;
  a.gain_percent = a.what == elide ? a.elide_percent : a.declare_percent;
  if (a.what == declare && !incomplete.empty()) {
    a.because = fmt::format("eliding alone returns {:.2f} %: after {} the library does not know all memory",
                            a.elide_percent, incomplete);
  } else if (a.what == declare) {
    a.because = fmt::format("eliding alone returns {:.2f} %", a.elide_percent);
  }
}

std::string declaration_line(const place_of_buffers& p) {
  if (!p.declared.empty()) return fmt::format("{}: declared {}", p.where, p.declared);
  if (p.pattern.empty()) {
    return fmt::format("{}: buffers of CPU and GPU in one direction, or managed ones: {}", p.where,
                       p.where == "no communicator" ? "no handle to declare it of" : "give each kind its communicator");
  }
  const bool derived = p.where == "windows" || p.where == "files";
  return fmt::format("{}: {}{}", p.where, p.pattern, derived ? ", of the communicator that they are made on" : "");
}

}  // namespace

advice advise(const result& r, const summary& s) {
  advice a;
  const json& cells = r.looked_at.report["buffers"];
  a.by_mpi = s.total.own_queries > 0;
  a.kinds = costs_of(cells, r.delay_ns);
  a.places = places_of(cells);
  a.common_pattern = common_pattern_of(a.places);
  const queries q = asked(s, a.by_mpi);
  if (q.number == 0 || q.calls == 0 || s.rank_seconds <= 0) return a;
  const std::string incomplete = why_incomplete(r.find("elided")->runs.back());
  a.asking_calls_percent = 100 * q.calls / s.total.calls;
  a.queries_per_call = q.number / q.calls;
  a.query_ns = 1e9 * q.seconds / q.number;
  // A plain run has the MPI's own queries in it, but not those that are injected.
  const double to_percent = 100 / (s.rank_seconds + (a.by_mpi ? 0 : q.seconds));
  a.lost_percent = to_percent * q.seconds;
  a.elide_percent = to_percent * returned_by_eliding(r, q, a.by_mpi, !incomplete.empty());
  a.declare_percent = to_percent * std::max(0.0, q.seconds - answer_s * q.number) * declarable_part(cells, a.places);
  decide(a, incomplete);
  a.gain_us_per_call = 1e6 * a.gain_percent / to_percent / q.calls;
  return a;
}

const char* name_of(advice::verdict what) {
  constexpr const char* names[] = {"nothing", "elide", "declare"};
  return names[static_cast<int>(what)];
}

std::string headline(const advice& a) {
  if (a.what == advice::verdict::nothing) {
    if (a.queries_per_call == 0) return "nothing: no call asks about a buffer";
    if (!a.because.empty()) return fmt::format("nothing: {}", a.because);
    return fmt::format("nothing: queries take {:.3f} % of the run, under {} %", a.lost_percent, least_percent);
  }
  return fmt::format(
      "{}: {:.0f} % of the calls ask, {:.1f} queries each of {:.0f} ns; expected gain {:.3g} us a call that asks, "
      "{:.2f} % "
      "of the run",
      name_of(a.what), a.asking_calls_percent, a.queries_per_call, a.query_ns, a.gain_us_per_call, a.gain_percent);
}

std::vector<std::string> details(const advice& a) {
  std::vector<std::string> lines;
  if (a.queries_per_call > 0 && !a.by_mpi)
    lines.emplace_back(
        "of an MPI that asks about every buffer once, as GPU-aware ones do: this one asks nothing by itself");
  for (const kind_cost& k : a.kinds)
    lines.push_back(fmt::format("{} memory: {:.0f} buffers, {:.0f} ns a query", k.memory, k.checks, k.query_ns));
  if (a.what == advice::verdict::nothing) return lines;
  if (a.what == advice::verdict::elide) {
    lines.emplace_back("load the library: env LD_PRELOAD=.../libimbrex_sessions.so IMBREX_SESSIONS=elide ./program");
    return lines;
  }
  lines.push_back(a.because);
  if (!a.common_pattern.empty())
    lines.push_back(fmt::format("the whole program, unchanged: IMBREX_SESSIONS=elide IMBREX_SESSIONS_PATTERN={}",
                                a.common_pattern));
  lines.emplace_back("in the program: imbrex/sessions.h, or MPI_Comm_set_info with mpi_communication_pattern, of");
  for (const place_of_buffers& p : a.places) lines.push_back("  " + declaration_line(p));
  return lines;
}

json to_json(const advice& a) {
  json kinds = json::array();
  for (const kind_cost& k : a.kinds)
    kinds.push_back({{"memory", k.memory}, {"checks", k.checks}, {"query_ns", k.query_ns}});
  const auto text = [](const std::string& t) { return t.empty() ? json(nullptr) : json(t); };
  json places = json::array();
  for (const place_of_buffers& p : a.places) {
    places.push_back(
        {{"where", p.where}, {"checks", p.checks}, {"declared", text(p.declared)}, {"pattern", text(p.pattern)}});
  }
  return {{"verdict", name_of(a.what)},
          {"headline", headline(a)},
          {"by_mpi", a.by_mpi},
          {"asking_calls_percent", a.asking_calls_percent},
          {"queries_per_call", a.queries_per_call},
          {"query_ns", a.query_ns},
          {"lost_percent", a.lost_percent},
          {"elide_percent", a.elide_percent},
          {"declare_percent", a.declare_percent},
          {"gain_us_per_call", a.gain_us_per_call},
          {"gain_percent", a.gain_percent},
          {"because", text(a.because)},
          {"common_pattern", text(a.common_pattern)},
          {"kinds", kinds},
          {"places", places}};
}

}  // namespace mpi_check
