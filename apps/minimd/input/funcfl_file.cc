#include "input/funcfl_file.h"

#include <fmt/format.h>

#include <utility>

#include "input/text_file.h"

namespace md {
namespace {

constexpr std::int64_t least_points = 5;

struct table_sizes {
  std::int64_t nrho = 0, nr = 0;
};

/// A line of the head.
std::string_view head_line(line_reader& lines, const char* what) {
  if (!lines.next())
    lines.place().refuse(fmt::format("the file ends before the line of the {}: a funcfl file is expected", what));
  return lines.line();
}

table_sizes read_head(line_reader& lines, funcfl& f) {
  head_line(lines, "comment");
  std::string_view rest = head_line(lines, "mass");
  lines.place().real(next_word(rest), "atomic number", sign::not_negative);
  f.mass = lines.place().real(next_word(rest), "mass", sign::positive);
  rest = head_line(lines, "table sizes");
  const text_place place = lines.place();
  table_sizes sizes;
  sizes.nrho = place.whole(next_word(rest), "nrho", least_points);
  f.drho = place.real(next_word(rest), "drho", sign::positive);
  sizes.nr = place.whole(next_word(rest), "nr", least_points);
  f.dr = place.real(next_word(rest), "dr", sign::positive);
  f.cutoff = place.real(next_word(rest), "cutoff", sign::positive);
  const double reach = static_cast<double>(sizes.nr) * f.dr;
  if (f.cutoff > reach * (1 + 1e-9))
    place.refuse(fmt::format("cutoff {} is beyond the table: at most nr * dr = {} is expected", f.cutoff, reach));
  return sizes;
}

/// The numbers after the head, one after the other.
class number_stream {
 public:
  explicit number_stream(line_reader& lines) : lines_(lines) {}

  /// Grows with what is there, not with what the head promises.
  std::vector<double> table(const char* what, std::int64_t count) {
    std::vector<double> values;
    for (std::int64_t i = 0; i < count; ++i) {
      const std::string_view word = next();
      if (word.empty())
        lines_.place().refuse(
            fmt::format("the file ends after {} of {} values of {}: {} more are expected", i, count, what, count - i));
      values.push_back(lines_.place().real(word, what));
    }
    return values;
  }

  void end() {
    const std::string_view word = next();
    if (!word.empty())
      lines_.place().refuse(fmt::format("'{}' follows the last value: nrho + 2 nr values are expected", word));
  }

 private:
  std::string_view next() {
    std::string_view word = next_word(rest_);
    while (word.empty() && lines_.next()) word = next_word(rest_ = lines_.line());
    return word;
  }

  line_reader& lines_;
  std::string_view rest_;
};

}  // namespace

funcfl read_funcfl(const std::string& path) {
  const text_file file = read_text_file(path);
  line_reader lines(file);
  funcfl f;
  const table_sizes sizes = read_head(lines, f);
  number_stream numbers(lines);
  f.embedding = numbers.table("F", sizes.nrho);
  f.charge = numbers.table("Z", sizes.nr);
  f.density = numbers.table("the density", sizes.nr);
  numbers.end();
  return f;
}

}  // namespace md
