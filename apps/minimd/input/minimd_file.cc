#include "input/minimd_file.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "input/lattice_size.h"
#include "input/text_file.h"

namespace md {
namespace {

/// Gives the values of one line after the other.
class value_lines {
 public:
  explicit value_lines(const text_file& file) : lines_(file), path_(file.path) {}

  void skip(const char* what) { enter(what); }

  std::string_view word(const char* what, const char* expected) {
    enter(what);
    return take(what, expected);
  }
  double real(const char* what, sign which) {
    enter(what);
    return next_real(what, which);
  }
  /// One more value of the same line.
  double next_real(const char* what, sign which) { return lines_.place().real(next_word(rest_), what, which); }
  std::int64_t whole(const char* what, std::int64_t least) {
    enter(what);
    return next_whole(what, least);
  }
  std::int64_t next_whole(const char* what, std::int64_t least) {
    return lines_.place().whole(next_word(rest_), what, least);
  }
  text_place place() const { return lines_.place(); }

 private:
  void enter(const char* what) {
    if (!lines_.next())
      text_place{path_, lines_.place().line + 1}.refuse(
          fmt::format("the file ends before the line of the {}: 14 lines are expected", what));
    rest_ = lines_.line();
  }
  std::string_view take(const char* what, const char* expected) {
    const std::string_view found = next_word(rest_);
    if (found.empty()) lines_.place().refuse_value(what, found, expected);
    return found;
  }

  line_reader lines_;
  std::string_view path_, rest_;
};

unit_system read_units(value_lines& lines) {
  const std::string_view word = lines.word("units", "lj or metal");
  if (word != "lj" && word != "metal") lines.place().refuse_value("units", word, "lj or metal");
  return word == "lj" ? unit_system::lj : unit_system::metal;
}

force_style read_force(value_lines& lines) {
  const std::string_view word = lines.word("force style", "lj or eam");
  if (word != "lj" && word != "eam") lines.place().refuse_value("force style", word, "lj or eam");
  return word == "lj" ? force_style::lj : force_style::eam;
}

void read_cells(value_lines& lines, problem& p) {
  p.cells[0] = lines.whole("size in x", 1);
  p.cells[1] = lines.next_whole("size in y", 1);
  p.cells[2] = lines.next_whole("size in z", 1);
  if (!countable(p.cells))
    lines.place().refuse_value("size", fmt::format("{}", fmt::join(p.cells, " ")), "at most 2^58 unit cells in all");
}

}  // namespace

problem read_minimd_file(const std::string& path) {
  const text_file file = read_text_file(path);
  value_lines lines(file);
  problem p;
  lines.skip("first comment");
  lines.skip("second comment");
  p.units = read_units(lines);
  const std::string_view data = lines.word("data file", "a file name or none");
  if (data != "none") p.data_file = data;
  p.force = read_force(lines);
  p.epsilon = lines.real("epsilon", sign::positive);
  p.sigma = lines.next_real("sigma", sign::positive);
  read_cells(lines, p);
  p.steps = lines.whole("number of steps", 0);
  p.dt = lines.real("time step", sign::positive);
  p.temperature = lines.real("initial temperature", sign::not_negative);
  p.density = lines.real("density", sign::positive);
  p.reneighbour_every = lines.whole("interval of reneighbouring", 0);
  p.cutoff = lines.real("cutoff", sign::positive);
  p.skin = lines.next_real("skin", sign::not_negative);
  p.thermo_every = lines.whole("interval of thermo", 0);
  return p;
}

}  // namespace md
