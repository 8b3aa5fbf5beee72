#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "output/dump.h"

namespace md {

/// VTK's UnstructuredGrid files, which ParaView opens: a vertex for each atom with the arrays `id`, `type` and
/// `velocity`, as raw appended data with lengths of 64 bits; the box's lengths are the field data `box`. For a path
/// name.vtu the frames are name_STEP.vtu, and name.pvd lists those of this run; it is complete after each frame.
class vtu_dump : public dump_writer {
 public:
  /// Writes the list, without frames. Throws usage_error.
  explicit vtu_dump(const std::string& path);
  vtu_dump(const std::string& path, const dump_place& after);

  dump_place place() const override { return {.bytes = 0, .steps = steps_}; }

 private:
  void write(const dump_frame& frame) override;
  void write_list() const;
  std::string frame_name(std::int64_t step) const;

  std::filesystem::path stem_;  ///< the path without suffix
  std::vector<std::int64_t> steps_;
};

}  // namespace md
