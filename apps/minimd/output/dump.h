#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "problem.h"

namespace md {

struct dump_atom {
  std::int64_t id = 0;  ///< from 1
  int type = 1;
  vector3 x{}, v{};
};

/// The atoms after a step. The box goes from 0 to its lengths and is periodic.
struct dump_frame {
  std::int64_t step = 0;
  std::int64_t num_atoms = 0;
  vector3 box{};
  std::vector<dump_atom> atoms;  ///< ascending by id
};

/// How far dumps have been written, for a run that goes on after a restart.
struct dump_place {
  std::int64_t bytes = 0;           ///< of a file with all frames
  std::vector<std::int64_t> steps;  ///< whose frames are files of their own

  template <class Archive>
  void serialize(Archive& ar) {
    ar & bytes & steps;
  }
};

/// Writes atoms after some of the steps. Positions and velocities read back as the same bits, in the problem's units.
/// Called by one thread: begin_frame, atoms any number of times and in any order of atoms, end_frame.
class dump_writer {
 public:
  virtual ~dump_writer() = default;
  /// Forgets a frame that was begun and not ended.
  void begin_frame(std::int64_t step, std::int64_t num_atoms, const vector3& box);
  /// Keeps a copy of them until end_frame.
  void atoms(std::span<const dump_atom> some);
  /// Sorts and writes the frame; on return the system has taken it. Throws error where the disk is full, or where not
  /// `num_atoms` atoms of different ids came.
  void end_frame();
  /// After the frames so far.
  virtual dump_place place() const = 0;

 private:
  virtual void write(const dump_frame& frame) = 0;
  void check_complete() const;
  dump_frame frame_;
};

/// A writer of the format that the suffix says: .xyz (extended XYZ), .lammpstrj (LAMMPS text), both with all frames in
/// one file; or .vtu (VTK: a file name_STEP.vtu for each frame, and name.pvd that lists them). Files of that name are
/// replaced. Throws usage_error where the suffix is another one, config_error or usage_error where the file cannot be
/// written.
std::unique_ptr<dump_writer> open_dump(const std::string& path);
/// The same for what was written up to `place`; what follows there is forgotten. Throws config_error where there is
/// less.
std::unique_ptr<dump_writer> continue_dump(const std::string& path, const dump_place& place);

/// Throws open_dump's usage_error, and does nothing to any file.
void check_dump_suffix(const std::string& path);

}  // namespace md
