// The web page of `imbrex mpi-check`: one file that needs no other, and well-formed XML, so that programs read it, too.
// Numbers stand in the attribute data-value as the JSON has them.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "mpi_check_advice.h"
#include "mpi_check_summary.h"
#include "svg_text.h"

namespace mpi_check {

namespace {

using json = nlohmann::ordered_json;

constexpr const char* style =
    "body{font-family:sans-serif;margin:2em auto;max-width:1000px;padding:0 1em;color:#222}"
    "table{border-collapse:collapse;margin:.5em 0}td,th{padding:.2em .7em;border-bottom:1px solid #ddd;text-align:left}"
    "td.n,th.n{text-align:right;font-variant-numeric:tabular-nums}"
    ".do{border-left:6px solid #9bbb59;background:#f6f8ef;padding:.6em 1em}.do.declare,.do.elide{border-color:#c0504d;"
    "background:#fdf3f2}pre{white-space:pre-wrap}svg{max-width:100%;height:auto}.note{color:#555}";

/// A command need be neither UTF-8 nor without control characters, which XML is.
std::string clean(const std::string& text) {
  const std::string quoted = json(text).dump(-1, ' ', false, json::error_handler_t::replace);
  std::string all = json::parse(quoted).get<std::string>();
  std::ranges::replace_if(all, [](char c) { return c >= 0 && c < ' ' && c != '\n' && c != '\t'; }, ' ');
  return all;
}

std::string number(double value, int digits = 0) {
  return fmt::format("<td class=\"n\" data-value=\"{}\">{:.{}f}</td>", value, value, digits);
}
std::string text(const std::string& t) { return fmt::format("<td>{}</td>", svg::escaped(t)); }

std::string head(std::initializer_list<const char*> names, std::size_t num_texts) {
  std::string row = "<tr>";
  std::size_t i = 0;
  for (const char* n : names) row += fmt::format("<th{}>{}</th>", i++ < num_texts ? "" : " class=\"n\"", n);
  return row + "</tr>\n";
}

std::string what_to_do(const advice& a) {
  std::string box = fmt::format("<div id=\"advice\" class=\"do {0}\" data-verdict=\"{0}\"><strong>{1}</strong>\n<pre>",
                                name_of(a.what), svg::escaped(headline(a)));
  for (const std::string& line : details(a)) box += svg::escaped(line) + "\n";
  return box + "</pre></div>\n";
}

std::string routines(const summary& s) {
  std::string rows = "<table id=\"routines\">\n" + head({"routine", "calls", "buffers", "a second", "bytes sent",
                                                         "bytes received", "own queries", "lost ms", "% of the run"},
                                                        1);
  const auto row = [&](const routine_summary& r) {
    const double percent = s.rank_seconds > 0 ? 100 * r.injected_s / s.rank_seconds : 0;
    rows += "<tr>" + text(r.name) + number(r.calls) + number(r.checks) + number(r.checks_per_s) + number(r.bytes_sent) +
            number(r.bytes_received) + number(r.own_queries) + number(1e3 * r.injected_s, 3) + number(percent, 3) +
            "</tr>\n";
  };
  for (const routine_summary& r : s.routines) row(r);
  row(s.total);
  return rows + "</table>\n";
}

std::string colour_of(const std::string& memory) {
  return memory == "device" ? "#8064a2" : memory == "managed" ? "#f79646" : memory == "pinned" ? "#4bacc6" : "#4f81bd";
}

/// A row of the table of buffers has a bar for its part of all.
std::string buffers(const json& cells) {
  double most = 0;
  for (const json& c : cells) most = std::max(most, c["checks"].get<double>());
  std::string rows = "<table id=\"buffers\">\n" +
                     head({"communicator", "declared", "direction", "memory", "buffers", "bytes", "ns a query", ""}, 4);
  for (const json& c : cells) {
    const double checks = c["checks"];
    const double injected = c["injected"];
    const double ns = injected > 0 ? c["query_ns"].get<double>() / injected : 0;
    const std::string memory = c["memory"];
    rows +=
        "<tr>" + text(c["where"]) + text(c["declared"].is_null() ? "" : c["declared"]) + text(c["direction"]) +
        text(memory) + number(checks) + number(c["bytes"]) + number(ns, 0) +
        fmt::format(
            "<td><svg width=\"160\" height=\"12\"><rect width=\"{:.1f}\" height=\"12\" fill=\"{}\"/></svg></td></tr>\n",
            160 * checks / most, colour_of(memory));
  }
  return rows + "</table>\n";
}

/// Ranks downwards, routines to the right; the darker, the more buffers. What stands out is a rank that asks more.
std::string heat_map(const summary& s) {
  constexpr double left = 150, top = 130, width = 60;
  const std::size_t num_routines = std::min<std::size_t>(s.routines.size(), 12);
  const double height = s.per_rank.size() > 64 ? 4 : 18;
  double most = 1;
  for (const rank_summary& r : s.per_rank) {
    for (std::size_t i = 0; i < num_routines; ++i) most = std::max(most, r.checks_by_routine[i]);
  }
  std::string body;
  for (std::size_t i = 0; i < num_routines; ++i) {
    const double x = left + width * (static_cast<double>(i) + 0.6);
    body += fmt::format("<text transform=\"translate({:.0f},{:.0f}) rotate(-40)\">{}</text>\n", x, top - 8,
                        svg::escaped(s.routines[i].name));
  }
  double y = top;
  for (const rank_summary& r : s.per_rank) {
    if (height > 10)
      body += fmt::format("<text x=\"{}\" y=\"{}\" text-anchor=\"end\">rank {}, {}</text>\n", left - 8, y + 13, r.rank,
                          svg::escaped(r.host.substr(0, 12)));
    for (std::size_t i = 0; i < num_routines; ++i) {
      const double checks = r.checks_by_routine[i];
      body += fmt::format(
          "<rect class=\"cell\" data-rank=\"{}\" data-routine=\"{}\" data-value=\"{}\" x=\"{}\" y=\"{}\" width=\"{}\" "
          "height=\"{}\" fill=\"#c0504d\" fill-opacity=\"{:.3f}\"><title>rank {}, {}: {:.0f} buffers</title></rect>\n",
          r.rank, svg::escaped(s.routines[i].name), checks, left + width * static_cast<double>(i), y, width - 1,
          height - 1, checks / most, r.rank, svg::escaped(s.routines[i].name), checks);
    }
    y += height;
  }
  const double right = left + width * static_cast<double>(num_routines) + 110;
  return fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" id=\"ranks\" width=\"{0:.0f}\" height=\"{1:.0f}\" viewBox=\"0 0 "
      "{0:.0f} "
      "{1:.0f}\" font-family=\"sans-serif\" font-size=\"12\">\n{2}</svg>\n",
      right, y + 10, body);
}

std::string ranks_table(const summary& s) {
  std::string rows = "<table id=\"per_rank\">\n" + head({"rank", "host", "seconds", "buffers", "lost ms"}, 2);
  for (const rank_summary& r : s.per_rank) {
    rows += "<tr>" + text(fmt::format("{}", r.rank)) + text(r.host) + number(r.seconds, 4) + number(r.checks) +
            number(1e3 * r.injected_s, 3) + "</tr>\n";
  }
  return rows + "</table>\n";
}

std::string cost_line(const result& r) {
  const json& cost = r.looked_at.report["query_in_loop_ns"];
  if (r.delay_ns) return fmt::format("A query is a delay of {} ns, in the driver's place.", *r.delay_ns);
  if (cost.is_null()) return "There is no driver to ask.";
  return fmt::format("A query of this machine's driver in a loop: {:.0f} ns for host memory, {:.0f} ns for a device's.",
                     cost["host"].get<double>(), cost["device"].get<double>());
}

}  // namespace

std::string page(const result& r, const summary& s) {
  const std::string title = fmt::format("{}", fmt::join(r.asked.command, " "));
  std::string body =
      fmt::format("<h1>imbrex mpi-check</h1>\n<pre>{}</pre>\n<p class=\"note\">{} ranks, {}, {} rounds. {}</p>\n",
                  svg::escaped(title), s.ranks, svg::escaped(s.mpi), r.rounds, cost_line(r));
  body += "<h2>What to do</h2>\n" + what_to_do(advise(r, s));
  body += "<h2>Time and routines</h2>\n" + picture(r, s) + routines(s);
  body += "<h2>Where buffers lie</h2>\n" + buffers(r.looked_at.report["buffers"]);
  body += "<h2>Ranks</h2>\n<p class=\"note\">Buffers by rank and routine; the darker, the more.</p>\n" + heat_map(s) +
          ranks_table(s);
  body += fmt::format("<h2>All in words</h2>\n<pre>{}</pre>\n", svg::escaped(table(r, s)));
  return clean(fmt::format(
      "<!DOCTYPE html>\n<html xmlns=\"http://www.w3.org/1999/xhtml\" lang=\"en\">\n<head>\n<meta charset=\"utf-8\"/>\n"
      "<title>imbrex mpi-check: {}</title>\n<style>{}</style>\n</head>\n<body>\n{}</body>\n</html>\n",
      svg::escaped(title), style, body));
}

}  // namespace mpi_check
