// The picture of `imbrex mpi-check`: SVG, which every browser shows and which needs no library.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "mpi_check_summary.h"
#include "svg_text.h"

namespace mpi_check {

namespace {

constexpr double width = 900;
constexpr double left = 190;   // of the bars; names stand before
constexpr double right = 760;  // of the longest bar; figures stand after
constexpr double row_height = 24;

/// A drawing that grows downwards, row by row.
class drawing {
 public:
  void title(const std::string& text) {
    y_ += row_height;
    say(20, text, "font-weight=\"bold\"");
    y_ += row_height;
  }
  void line(const std::string& text) {
    say(20, text, "fill=\"#555\"");
    y_ += row_height;
  }
  /// `low` to `high` is drawn as a whisker where they differ.
  void bar(const std::string& name, double value, double scale, const char* colour, const std::string& figure,
           double low = 0, double high = 0) {
    const double length = scale > 0 ? (right - left) * value / scale : 0;
    say(left - 8, name, "text-anchor=\"end\"");
    body_ += fmt::format("<rect x=\"{}\" y=\"{}\" width=\"{:.1f}\" height=\"14\" fill=\"{}\"/>\n", left, y_ - 11,
                         length, colour);
    double end = left + length;
    if (high > low) {
      const double from = left + (right - left) * low / scale;
      end = std::max(end, left + (right - left) * high / scale);
      body_ += fmt::format(
          "<path d=\"M{0:.1f} {2} V{3} M{1:.1f} {2} V{3} M{0:.1f} {4} H{1:.1f}\" stroke=\"#222\" fill=\"none\"/>\n",
          from, left + (right - left) * high / scale, y_ - 8, y_, y_ - 4);
    }
    say(end + 6, figure, "fill=\"#555\"");
    y_ += row_height;
  }
  std::string finished() const {
    return fmt::format(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0}\" height=\"{1}\" viewBox=\"0 0 {0} {1}\" "
        "font-family=\"sans-serif\" font-size=\"13\">\n<rect width=\"{0}\" height=\"{1}\" "
        "fill=\"white\"/>\n{2}</svg>\n",
        width, y_ + row_height, body_);
  }

 private:
  void say(double x, const std::string& text, const char* how) {
    body_ += fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" {}>{}</text>\n", x, y_, how, svg::escaped(text));
  }

  double y_ = 10;
  std::string body_;
};

void draw_variants(drawing& d, const summary& s) {
  d.title("time against plain (median of the rounds, 95 % interval)");
  double longest = 1;
  for (const variant_summary& v : s.variants) longest = std::max(longest, v.against_plain.high);
  for (const variant_summary& v : s.variants) {
    d.bar(v.what.name, v.against_plain.median, longest, v.what.name == "injected" ? "#c0504d" : "#4f81bd",
          fmt::format("{:.3f}", v.against_plain.median), v.against_plain.low, v.against_plain.high);
  }
}

void draw_routines(drawing& d, const summary& s, const char* title, const char* unit, const char* colour,
                   double (*value)(const routine_summary&)) {
  constexpr std::size_t most = 12;
  std::vector<routine_summary> rows = s.routines;
  std::ranges::sort(rows, [value](const routine_summary& a, const routine_summary& b) {
    return value(a) != value(b) ? value(a) > value(b) : a.name < b.name;
  });
  while (!rows.empty() && (rows.size() > most || value(rows.back()) <= 0)) rows.pop_back();
  if (rows.empty()) return;
  d.title(title);
  for (const routine_summary& r : rows) {
    d.bar(r.name, value(r), value(rows.front()), colour, fmt::format("{:.4g} {}", value(r), unit));
  }
}

}  // namespace

std::string picture(const result& r, const summary& s) {
  drawing d;
  d.title(fmt::format("{}", fmt::join(r.asked.command, " ")));
  d.line(fmt::format("{} ranks, {}, {} rounds, {}", s.ranks, s.mpi, r.rounds,
                     r.delay_ns ? fmt::format("a check takes {} ns", *r.delay_ns) : "checks ask the driver"));
  draw_variants(d, s);
  draw_routines(d, s, "checks per second, all ranks (the paper's Figures 7 to 13)", "/s", "#9bbb59",
                [](const routine_summary& x) { return x.checks_per_s; });
  draw_routines(d, s, "time lost in checks, all ranks", "ms", "#c0504d",
                [](const routine_summary& x) { return 1e3 * x.injected_s; });
  return d.finished();
}

}  // namespace mpi_check
