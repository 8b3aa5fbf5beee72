#include "input/lammps_data.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <utility>

#include "input/lammps_data_head.h"
#include "input/text_file.h"

namespace md {
namespace {

/// The three numbers that the rest of a line begins with.
vector3 take_vector(text_place place, std::string_view& rest, const std::array<const char*, 3>& names) {
  vector3 v;
  for (std::size_t axis = 0; axis < 3; ++axis) v[axis] = place.real(next_word(rest), names[axis]);
  return v;
}

void check_line_ends(text_place place, std::string_view rest, const char* expected) {
  if (const std::string_view more = next_word(rest); !more.empty())
    place.refuse(fmt::format("'{}' is too much on this line: {} is expected", more, expected));
}

/// For each id where in its section it is.
class id_table {
 public:
  explicit id_table(std::int64_t num_ids) : index_(static_cast<std::size_t>(num_ids), unset) {}

  std::int64_t take(text_place place, std::string_view word, std::int64_t index) {
    const std::int64_t id = place.whole(word, "atom id", 1);
    const auto num_ids = static_cast<std::int64_t>(index_.size());
    if (id > num_ids)
      place.refuse_value("atom id", word, fmt::format("an id from 1 to {}, the number of atoms,", num_ids));
    if (std::exchange(at(id), index) != unset)
      place.refuse(fmt::format("atom id {} is there twice: each id once is expected", id));
    return id;
  }
  std::int64_t operator[](std::int64_t id) const { return index_[static_cast<std::size_t>(id - 1)]; }

 private:
  static constexpr std::int64_t unset = -1;
  std::int64_t& at(std::int64_t id) { return index_[static_cast<std::size_t>(id - 1)]; }
  std::vector<std::int64_t> index_;
};

/// Reads the sections. The head's counts are believed only as far as the file is long enough for them.
class data_sections {
 public:
  data_sections(const text_file& file, line_reader& lines)
      : lines_(lines), head_(read_lammps_data_head(lines, content_, comment_)) {
    constexpr std::int64_t shortest = 10;  // "1 1 0 0 0" and a line feed
    const auto most = static_cast<std::int64_t>(file.text.size()) / shortest + 1;
    if (std::max(head_.num_atoms, head_.num_types) > most)
      lines_.place().refuse(
          fmt::format("the head promises {} atoms of {} types, for which the file is too short: lines "
                      "for all of them are expected",
                      head_.num_atoms, head_.num_types));
    result_.box_lo = head_.box_lo;
    result_.box_hi = head_.box_hi;
  }

  initial_atoms read() && {
    for (; !content_.empty(); next_content(lines_, content_, comment_)) read_section();
    if (result_.ids.empty()) lines_.place().refuse("there is no section Atoms: it is expected");
    order_velocities();
    return std::move(result_);
  }

 private:
  void read_section() {
    const std::string name = fmt::format("{}", fmt::join(words_of(content_), " "));
    if (name == "Masses") return read_masses();
    if (name == "Atoms") return read_atoms();
    if (name == "Velocities") return read_velocities();
    lines_.place().refuse_value("section", name, "Masses, Atoms or Velocities");
  }

  /// The next line of a section that has `count` of them, of which `done` were there.
  std::string_view section_line(const char* section, std::int64_t done, std::int64_t count) {
    if (!next_content(lines_, content_, comment_) || is_letter(content_))
      lines_.place().refuse(fmt::format("the section {} ends after {} lines: {} are expected", section, done, count));
    return content_;
  }
  static bool is_letter(std::string_view line) {
    const char first = next_word(line)[0];
    return (first >= 'A' && first <= 'Z') || (first >= 'a' && first <= 'z');
  }
  void check_new(bool there, const char* section) {
    if (there) lines_.place().refuse(fmt::format("section {} is there twice: it is expected once", section));
  }

  void read_masses() {
    check_new(result_.mass > 0, "Masses");
    std::vector<bool> seen(static_cast<std::size_t>(head_.num_types));
    for (std::int64_t i = 0; i < head_.num_types; ++i) {
      std::string_view rest = section_line("Masses", i, head_.num_types);
      const auto type = static_cast<std::size_t>(read_type(rest) - 1);
      if (seen[type]) lines_.place().refuse(fmt::format("type {} has two masses: one is expected", type + 1));
      seen[type] = true;
      read_mass(rest);
    }
  }
  void read_mass(std::string_view rest) {
    const double mass = lines_.place().real(next_word(rest), "mass", sign::positive);
    check_line_ends(lines_.place(), rest, "TYPE MASS");
    if (result_.mass > 0 && mass != result_.mass)
      lines_.place().refuse(fmt::format(
          "mass {} differs from mass {} of another type: the same mass for all types is expected", mass, result_.mass));
    result_.mass = mass;
  }
  std::int64_t read_type(std::string_view& rest) {
    const std::string_view word = next_word(rest);
    const std::int64_t type = lines_.place().whole(word, "atom type", 1);
    if (type > head_.num_types)
      lines_.place().refuse_value("atom type", word, fmt::format("a type from 1 to {}", head_.num_types));
    return type;
  }

  void read_atoms() {
    check_new(!result_.ids.empty(), "Atoms");
    const std::vector<std::string_view> style = words_of(comment_);
    if (!style.empty() && style[0] != "atomic") lines_.place().refuse_value("atom style", style[0], "atomic");
    const auto count = static_cast<std::size_t>(head_.num_atoms);
    id_table ids(head_.num_atoms);
    result_.ids.reserve(count);
    result_.positions.reserve(count);
    for (std::int64_t i = 0; i < head_.num_atoms; ++i) {
      std::string_view rest = section_line("Atoms", i, head_.num_atoms);
      result_.ids.push_back(ids.take(lines_.place(), next_word(rest), i));
      read_type(rest);
      result_.positions.push_back(take_vector(lines_.place(), rest, {"x", "y", "z"}));
      check_image_flags(rest);
    }
  }
  void check_image_flags(std::string_view rest) {
    std::string_view word = next_word(rest);
    if (word.empty()) return;
    for (int axis = 0; axis < 3; ++axis, word = next_word(rest)) {
      if (!parse_whole(word)) lines_.place().refuse_value("image flag", word, "none or three whole numbers");
    }
    if (!word.empty()) check_line_ends(lines_.place(), word, "ID TYPE X Y Z, or that and three image flags,");
  }

  void read_velocities() {
    check_new(velocity_index_.has_value(), "Velocities");
    velocity_index_.emplace(head_.num_atoms);
    velocities_.reserve(static_cast<std::size_t>(head_.num_atoms));
    for (std::int64_t i = 0; i < head_.num_atoms; ++i) {
      std::string_view rest = section_line("Velocities", i, head_.num_atoms);
      velocity_index_->take(lines_.place(), next_word(rest), i);
      velocities_.push_back(take_vector(lines_.place(), rest, {"vx", "vy", "vz"}));
      check_line_ends(lines_.place(), rest, "ID VX VY VZ");
    }
  }
  void order_velocities() {
    if (!velocity_index_) return;
    result_.velocities.reserve(velocities_.size());
    for (const std::int64_t id : result_.ids)
      result_.velocities.push_back(velocities_[static_cast<std::size_t>((*velocity_index_)[id])]);
  }

  line_reader& lines_;
  std::string_view content_, comment_;  // the line that `lines_` is at
  lammps_data_head head_;
  initial_atoms result_;
  std::vector<vector3> velocities_;  // in their section's order
  std::optional<id_table> velocity_index_;
};

}  // namespace

initial_atoms read_lammps_data(const std::string& path) {
  const text_file file = read_text_file(path);
  line_reader lines(file);
  return data_sections(file, lines).read();
}

}  // namespace md
