#pragma once

#include <string>

#include "output/dump.h"
#include "output/out_file.h"

namespace md {

/// The text that LAMMPS' `dump custom id type x y z vx vy vz` writes; OVITO, VMD and ASE read it.
class lammpstrj_dump : public dump_writer {
 public:
  /// Throws config_error.
  explicit lammpstrj_dump(const std::string& path) : file_(out_file::create(path)) {}
  lammpstrj_dump(const std::string& path, const dump_place& after) : file_(out_file::extend(path, after.bytes)) {}

  dump_place place() const override { return {.bytes = file_.bytes(), .steps = {}}; }

 private:
  void write(const dump_frame& frame) override;
  out_file file_;
};

}  // namespace md
