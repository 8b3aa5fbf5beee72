#include "output/dump.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "imbrex/base/error.h"
#include "output/lammpstrj_dump.h"
#include "output/vtu_dump.h"
#include "output/xyz_dump.h"

namespace md {
namespace {

/// `place`: null for a new one.
template <class writer>
std::unique_ptr<dump_writer> open_as(const std::string& path, const dump_place* place) {
  return place == nullptr ? std::make_unique<writer>(path) : std::make_unique<writer>(path, *place);
}

using opener = std::unique_ptr<dump_writer> (*)(const std::string& path, const dump_place* place);

/// Throws usage_error where there is none.
opener opener_for(const std::string& path) {
  const std::string suffix = std::filesystem::path(path).extension().string();
  if (suffix == ".xyz") return open_as<xyz_dump>;
  if (suffix == ".lammpstrj") return open_as<lammpstrj_dump>;
  if (suffix == ".vtu") return open_as<vtu_dump>;
  throw imbrex::usage_error(
      fmt::format("cannot tell the format of the dump {} by its suffix \"{}\"; give a path that "
                  "ends with .xyz, .lammpstrj or .vtu",
                  path, suffix));
}

}  // namespace

void dump_writer::begin_frame(std::int64_t step, std::int64_t num_atoms, const vector3& box) {
  frame_.step = step;
  frame_.num_atoms = num_atoms;
  frame_.box = box;
  frame_.atoms.clear();
  frame_.atoms.reserve(static_cast<std::size_t>(num_atoms));
}

void dump_writer::atoms(std::span<const dump_atom> some) {
  frame_.atoms.insert(frame_.atoms.end(), some.begin(), some.end());
}

void dump_writer::end_frame() {
  std::ranges::sort(frame_.atoms, {}, &dump_atom::id);
  check_complete();
  write(frame_);
}

void dump_writer::check_complete() const {
  if (std::ssize(frame_.atoms) != frame_.num_atoms)
    throw imbrex::error(fmt::format("the frame of step {} has {} atoms, not {}: atoms were lost or doubled",
                                    frame_.step, frame_.atoms.size(), frame_.num_atoms));
  const auto twice = std::ranges::adjacent_find(frame_.atoms, {}, &dump_atom::id);
  if (twice != frame_.atoms.end())
    throw imbrex::error(fmt::format("the frame of step {} has atom {} twice", frame_.step, twice->id));
}

std::unique_ptr<dump_writer> open_dump(const std::string& path) { return opener_for(path)(path, nullptr); }

std::unique_ptr<dump_writer> continue_dump(const std::string& path, const dump_place& place) {
  return opener_for(path)(path, &place);
}

void check_dump_suffix(const std::string& path) { opener_for(path); }

}  // namespace md
