// The table and the JSON of `imbrex mpi-check`.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "mpi_check_advice.h"
#include "mpi_check_summary.h"

namespace mpi_check {

namespace {

using json = nlohmann::ordered_json;

std::string who_answers(const result& r, const summary& s) {
  if (r.delay_ns) return fmt::format("checks stand for themselves by a delay of {} ns", *r.delay_ns);
  return s.has_driver ? "checks ask the driver" : "checks cost nothing: there is no driver";
}

std::string variant_line(const variant_summary& v) {
  return fmt::format("{:<12} {:<14} {:>10.4f} ({:.4f} to {:.4f}) {:>11.4f} ({:.4f} to {:.4f}) {:>+10.4f}\n",
                     v.what.name, v.what.modes, v.seconds.median, v.seconds.low, v.seconds.high, v.against_plain.median,
                     v.against_plain.low, v.against_plain.high, v.added_s);
}

double percent_of_plain(double seconds, const summary& s) {
  return s.rank_seconds > 0 ? 100 * seconds / s.rank_seconds : 0;
}

std::string routine_line(const routine_summary& r, const summary& s) {
  return fmt::format("{:<26} {:>11.0f} {:>11.0f} {:>12.0f} {:>15.0f} {:>11.0f} {:>10.3f} {:>8.3f} {:>10.3f}\n", r.name,
                     r.calls, r.checks, r.checks_per_s, r.bytes_sent, r.own_queries, 1e3 * r.injected_s,
                     percent_of_plain(r.injected_s, s), 1e3 * r.elided_s);
}

const variant_summary* find(const summary& s, const char* name) {
  for (const variant_summary& v : s.variants) {
    if (v.what.name == name) return &v;
  }
  return nullptr;
}

// Whether the interval leaves no doubt that it differs from plain: no single round does that.
bool is_clear(const variant_summary& v) {
  return v.num_runs >= 3 && (v.against_plain.low > 1 || v.against_plain.high < 1);
}

std::string in_words(const variant_summary& v, const char* what) {
  const double percent = 100 * (v.against_plain.median - 1);
  if (v.num_runs < 3) return fmt::format("{}: {:+.2f} %, of too few rounds to tell from chance", what, percent);
  if (!is_clear(v)) return fmt::format("{}: no difference to plain beyond the spread ({:+.2f} %)", what, percent);
  return fmt::format("{}: {:+.2f} % ({:+.4f} s)", what, percent, v.added_s);
}

std::string conclusions(const summary& s) {
  const variant_summary& injected = *find(s, "injected");
  const variant_summary& elided = *find(s, "elided");
  std::string text = in_words(injected, "checking every buffer once") + "\n";
  text += in_words(elided, "the same, elided") + "\n";
  if (is_clear(injected) && injected.added_s > 0) {
    text += fmt::format("eliding returns {:.4f} s of {:.4f} s, {:.0f} %\n", injected.added_s - elided.added_s,
                        injected.added_s, 100 * (injected.added_s - elided.added_s) / injected.added_s);
  }
  if (const variant_summary* own = find(s, "own elided")) {
    text += fmt::format("the MPI itself makes {:.0f} queries, {:.3f} ms in the driver\n", s.total.own_queries,
                        1e3 * s.total.own_query_s);
    text += in_words(*own, "those elided") + "\n";
  }
  text +=
      fmt::format("elided runs answer {:.0f} queries from declarations, {:.0f} from the cache, {:.0f} as host memory\n",
                  s.total.elided_by[0], s.total.elided_by[1], s.total.elided_by[2]);
  return text;
}

json to_json(const spread& s, const char* low, const char* high) {
  return {{"median", s.median}, {low, s.low}, {high, s.high}};
}

json to_json(const routine_summary& r) {
  return {{"name", r.name},
          {"calls", r.calls},
          {"checks", r.checks},
          {"checks_per_s", r.checks_per_s},
          {"bytes_sent", r.bytes_sent},
          {"bytes_received", r.bytes_received},
          {"own_queries", r.own_queries},
          {"own_query_s", r.own_query_s},
          {"injected_s", r.injected_s},
          {"elided_s", r.elided_s},
          {"declared", r.elided_by[0]},
          {"cached", r.elided_by[1]},
          {"host", r.elided_by[2]}};
}

json to_json(const rank_summary& r, const summary& s) {
  json routines = json::array();
  for (std::size_t i = 0; i < s.routines.size(); ++i)
    routines.push_back({{"name", s.routines[i].name}, {"checks", r.checks_by_routine[i]}});
  return {{"rank", r.rank},
          {"host", r.host},
          {"seconds", r.seconds},
          {"checks", r.checks},
          {"injected_s", r.injected_s},
          {"routines", routines}};
}

json to_json(const variant_summary& v, const series& runs) {
  json seconds = json::array();
  json wall = json::array();
  for (const run& r : runs.runs) {
    seconds.push_back(r.seconds);
    wall.push_back(r.wall_s);
  }
  return {{"name", v.what.name},
          {"modes", v.what.modes},
          {"seconds", to_json(v.seconds, "quartile_1", "quartile_3")},
          {"against_plain", to_json(v.against_plain, "low_95", "high_95")},
          {"added_s", v.added_s},
          {"all_seconds", seconds},
          {"all_wall_s", wall}};
}

}  // namespace

std::string table(const result& r, const summary& s) {
  std::string text = fmt::format("{}\n{} rank{}, {}, {} round{}; {}\n\n", fmt::join(r.asked.command, " "), s.ranks,
                                 s.ranks == 1 ? "" : "s", s.mpi, r.rounds, r.rounds == 1 ? "" : "s", who_answers(r, s));
  text += fmt::format("{:<12} {:<14} {:>10} {:<18} {:>11} {:<18} {:>9}\n", "variant", "modes", "seconds", "(quartiles)",
                      "of plain", "(95 %)", "added s");
  for (const variant_summary& v : s.variants) text += variant_line(v);
  text += fmt::format("{:<26} {:>11} {:>11} {:>12} {:>15} {:>11} {:>10} {:>8} {:>10}\n", "\nroutine (all ranks)",
                      "calls", "checks", "checks/s", "bytes sent", "own queries", "lost ms", "% of plain", "elided ms");
  for (const routine_summary& row : s.routines) text += routine_line(row, s);
  text += routine_line(s.total, s);
  text += "\n" + conclusions(s);
  const advice a = advise(r, s);
  text += "\nwhat to do: " + headline(a) + "\n";
  for (const std::string& line : details(a)) text += "  " + line + "\n";
  return text;
}

json to_json(const result& r, const summary& s) {
  json all = {{"imbrex_mpi_check", 1},
              {"command", r.asked.command},
              {"mpi", s.mpi},
              {"ranks", s.ranks},
              {"repeats", r.rounds},
              {"has_driver", s.has_driver},
              {"delay_ns", r.delay_ns ? json(*r.delay_ns) : json(nullptr)},
              {"pattern", r.asked.pattern.empty() ? json(nullptr) : json(r.asked.pattern)},
              {"wall_s_without_library", r.without_library.wall_s}};
  all["advice"] = to_json(advise(r, s));
  all["query_in_loop_ns"] = r.looked_at.report["query_in_loop_ns"];
  all["buffers"] = r.looked_at.report["buffers"];
  json& variants = all["variants"] = json::array();
  for (std::size_t i = 0; i < s.variants.size(); ++i) variants.push_back(to_json(s.variants[i], r.all[i]));
  all["total"] = to_json(s.total);
  json& routines = all["routines"] = json::array();
  for (const routine_summary& row : s.routines) routines.push_back(to_json(row));
  json& ranks = all["per_rank"] = json::array();
  for (const rank_summary& rank : s.per_rank) ranks.push_back(to_json(rank, s));
  return all;
}

}  // namespace mpi_check
