#pragma once

#include <string>

#include "output/dump.h"
#include "output/out_file.h"

namespace md {

/// Extended XYZ, as OVITO reads it. A line for each atom: type, position, velocity, id. The type comes first and
/// the position next, so that readers of plain XYZ (VMD) find what they expect and ignore the rest.
class xyz_dump : public dump_writer {
 public:
  /// Throws config_error.
  explicit xyz_dump(const std::string& path) : file_(out_file::create(path)) {}
  xyz_dump(const std::string& path, const dump_place& after) : file_(out_file::extend(path, after.bytes)) {}

  dump_place place() const override { return {.bytes = file_.bytes(), .steps = {}}; }

 private:
  void write(const dump_frame& frame) override;
  out_file file_;
};

}  // namespace md
