// The picture of `imbrex balance-replay`: SVG, which every browser shows and which needs no library.
#include <fmt/format.h>

#include <algorithm>
#include <cstddef>

#include "balance_replay.h"
#include "svg_text.h"

namespace balance_replay {

namespace {

constexpr double margin = 20;
constexpr double height = 84;  // of a strategy's loads
constexpr double width_of_pes = 620;
constexpr double width_of_gpus = 240;
constexpr std::size_t most_columns = 310;

std::string said(double x, double y, const char* how, const std::string& text) {
  return fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" {}>{}</text>\n", x, y, how, svg::escaped(text));
}

/// Where there are more than fit side by side, a column stands for several and shows the longest.
std::vector<double> columns_of(const std::vector<double>& times) {
  const std::size_t num = std::min(times.size(), most_columns);
  std::vector<double> columns(num);
  for (std::size_t i = 0; i < times.size(); ++i) {
    double& c = columns[i * num / times.size()];
    c = std::max(c, times[i]);
  }
  return columns;
}

/// The outline of the columns, as one shape.
std::string outline(const std::vector<double>& times, double x, double y, double width, double longest,
                    const char* how) {
  const std::vector<double> columns = columns_of(times);
  if (columns.empty() || longest <= 0) return "";
  std::string path = fmt::format("M{:.1f} {:.1f}", x, y + height);
  for (std::size_t i = 0; i < columns.size(); ++i) {
    const double right = x + width * static_cast<double>(i + 1) / static_cast<double>(columns.size());
    path += fmt::format("V{:.1f}H{:.1f}", y + height * (1 - columns[i] / longest), right);
  }
  return fmt::format("<path d=\"{}V{:.1f}Z\" {}/>\n", path, y + height, how);
}

std::string loads(const std::vector<double>& before, const std::vector<double>& after, double mean, double x, double y,
                  double width, double longest) {
  std::string body = outline(before, x, y, width, longest, "fill=\"#d9d9d9\"") +
                     outline(after, x, y, width, longest, "fill=\"#4f81bd\" fill-opacity=\"0.75\"");
  const double level = y + height * (1 - (longest > 0 ? mean / longest : 0));
  body += fmt::format("<path d=\"M{0:.1f} {2:.1f}H{1:.1f}\" stroke=\"#c0504d\" stroke-dasharray=\"4 3\"/>\n", x,
                      x + width, level);
  return body + fmt::format("<path d=\"M{0:.1f} {2:.1f}H{1:.1f}\" stroke=\"#222\"/>\n", x, x + width, y + height);
}

}  // namespace

std::string picture(const comparison& c) {
  double longest = 0;
  bool has_gpus = false;
  for (const outcome& o : c.outcomes) {
    longest = std::max({longest, o.before.time, o.after.time});
    has_gpus = has_gpus || !o.before.gpu_times.empty();
  }
  const double width = 2 * margin + width_of_pes + (has_gpus ? margin + width_of_gpus : 0);
  double y = margin + 6;
  std::string body =
      said(margin, y, "font-weight=\"bold\"",
           fmt::format("{}step {}: loads of the PEs{}, from {} elements", c.program.empty() ? "" : c.program + ", ",
                       c.step, has_gpus ? " (left) and GPUs (right)" : "", c.num_elements));
  y += 20;
  body += said(margin, y, "fill=\"#555\"",
               fmt::format("grey: before, blue: after, dashed: an even load; full height {:.4g} ms", 1e3 * longest));
  for (const outcome& o : c.outcomes) {
    y += 26;
    if (!o.why_not.empty()) {
      body += said(margin, y, "fill=\"#555\"", fmt::format("{}: {}", o.strategy, o.why_not));
      continue;
    }
    body += said(margin, y, "",
                 fmt::format("{}: efficiency {:.1f} to {:.1f} %, {} moves", o.strategy, 100 * o.before.efficiency,
                             100 * o.after.efficiency, o.after.num_moves));
    y += 8;
    body += loads(o.before.pe_times, o.after.pe_times, o.before.pes.mean, margin, y, width_of_pes, longest);
    if (has_gpus) {
      body += loads(o.before.gpu_times, o.after.gpu_times, o.before.gpus.mean, 2 * margin + width_of_pes, y,
                    width_of_gpus, longest);
    }
    y += height;
  }
  return fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0}\" height=\"{1}\" viewBox=\"0 0 {0} {1}\" "
      "font-family=\"sans-serif\" font-size=\"13\">\n<rect width=\"{0}\" height=\"{1}\" fill=\"white\"/>\n{2}</svg>\n",
      width, y + margin, body);
}

}  // namespace balance_replay
