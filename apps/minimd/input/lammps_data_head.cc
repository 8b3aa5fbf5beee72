#include "input/lammps_data_head.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <span>
#include <string>

namespace md {
namespace {

using word_list = std::vector<std::string_view>;

constexpr std::array<std::string_view, 3> box_names{"xlo xhi", "ylo yhi", "zlo zhi"};

/// Reads the lines of the head and notes which were there.
class head_builder {
 public:
  void read(text_place place, std::string_view content) {
    const word_list all = words_of(content);
    const auto name = std::ranges::find_if(all, [](std::string_view w) { return std::isalpha(w[0]) != 0; });
    const std::string key = fmt::format("{}", fmt::join(name, all.end(), " "));
    const std::span<const std::string_view> values(all.begin(), name);
    check_new(place, key);
    if (key == "atoms") {
      head_.num_atoms = place.whole(single(place, values, key), "number of atoms", 1);
    } else if (key == "atom types") {
      head_.num_types = place.whole(single(place, values, key), "number of atom types", 1);
    } else if (const auto box = std::ranges::find(box_names, key); box != box_names.end()) {
      read_extent(place, values, static_cast<std::size_t>(box - box_names.begin()));
    } else {
      check_unused(place, values, key);
    }
  }

  lammps_data_head finish(text_place place) const {
    for (const std::string_view key : {"atoms", "atom types", "xlo xhi", "ylo yhi", "zlo zhi"}) {
      if (std::ranges::find(seen_, key) == seen_.end())
        place.refuse(fmt::format(
            "the head has no line with '{}': it is expected before the sections (line 1 is a comment)", key));
    }
    return head_;
  }

 private:
  void check_new(text_place place, const std::string& key) {
    if (std::ranges::find(seen_, key) != seen_.end())
      place.refuse(fmt::format("'{}' is given twice: one such line is expected", key));
    seen_.push_back(key);
  }

  static std::string_view single(text_place place, std::span<const std::string_view> values, const std::string& key) {
    if (values.size() != 1)
      place.refuse(fmt::format("{} values before '{}': one number is expected", values.size(), key));
    return values[0];
  }

  void read_extent(text_place place, std::span<const std::string_view> values, std::size_t axis) {
    if (values.size() != 2)
      place.refuse(fmt::format("{} values before '{}': two numbers are expected", values.size(), box_names[axis]));
    head_.box_lo[axis] = place.real(values[0], box_names[axis].substr(0, 3));
    head_.box_hi[axis] = place.real(values[1], box_names[axis].substr(4));
    if (head_.box_hi[axis] <= head_.box_lo[axis])
      place.refuse(fmt::format("the box from {} to {} is empty: a larger '{}' is expected", values[0], values[1],
                               box_names[axis].substr(4)));
  }

  /// What other atom styles have may be there when it is nothing.
  static void check_unused(text_place place, std::span<const std::string_view> values, const std::string& key) {
    if (key.empty()) place.refuse("a line of the head without a name: such as '32000 atoms' is expected");
    static constexpr std::array names{"bonds",       "angles",         "dihedrals",      "impropers", "bond types",
                                      "angle types", "dihedral types", "improper types", "xy xz yz"};
    if (std::ranges::find(names, key) == names.end())
      place.refuse(fmt::format("'{}' is unknown: atoms, atom types, xlo xhi, ylo yhi and zlo zhi are known", key));
    for (const std::string_view value : values) {
      if (place.real(value, key) != 0)
        place.refuse(fmt::format("'{}' is {}: atoms in an orthogonal box are read only, so 0 is expected", key, value));
    }
  }

  lammps_data_head head_;
  std::vector<std::string> seen_;
};

}  // namespace

bool next_content(line_reader& lines, std::string_view& content, std::string_view& comment) {
  while (lines.next()) {
    const std::string_view line = lines.line();
    const std::size_t hash = line.find('#');
    content = line.substr(0, hash);
    comment = hash == std::string_view::npos ? std::string_view() : line.substr(hash + 1);
    std::string_view rest = content;
    if (!next_word(rest).empty()) return true;
  }
  content = comment = {};
  return false;
}

lammps_data_head read_lammps_data_head(line_reader& lines, std::string_view& content, std::string_view& comment) {
  lines.next();  // a comment, whatever it says
  head_builder head;
  while (next_content(lines, content, comment)) {
    std::string_view rest = content;
    if (std::isalpha(next_word(rest)[0])) break;
    head.read(lines.place(), content);
  }
  return head.finish(lines.place());
}

}  // namespace md
