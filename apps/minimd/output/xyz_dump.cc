#include "output/xyz_dump.h"

#include <fmt/format.h>

namespace md {
namespace {

std::string frame_head_of(const dump_frame& f) {
  return fmt::format(
      "{}\nLattice=\"{} 0 0 0 {} 0 0 0 {}\" Properties=species:S:1:pos:R:3:velo:R:3:id:I:1 Timestep={} "
      "pbc=\"T T T\"\n",
      f.num_atoms, f.box[0], f.box[1], f.box[2], f.step);
}

}  // namespace

void xyz_dump::write(const dump_frame& frame) {
  file_.write(frame_head_of(frame));
  fmt::memory_buffer line;
  for (const dump_atom& a : frame.atoms) {
    line.clear();
    fmt::format_to(fmt::appender(line), "{} {} {} {} {} {} {} {}\n", a.type, a.x[0], a.x[1], a.x[2], a.v[0], a.v[1],
                   a.v[2], a.id);
    file_.write({line.data(), line.size()});
  }
  file_.flush();
}

}  // namespace md
