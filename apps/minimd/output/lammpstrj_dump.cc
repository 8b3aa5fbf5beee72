#include "output/lammpstrj_dump.h"

#include <fmt/format.h>

namespace md {
namespace {

std::string item_head_of(const dump_frame& f) {
  std::string text = fmt::format("ITEM: TIMESTEP\n{}\nITEM: NUMBER OF ATOMS\n{}\n", f.step, f.num_atoms);
  text += "ITEM: BOX BOUNDS pp pp pp\n";
  for (const double length : f.box) text += fmt::format("0 {}\n", length);
  return text + "ITEM: ATOMS id type x y z vx vy vz\n";
}

}  // namespace

void lammpstrj_dump::write(const dump_frame& frame) {
  file_.write(item_head_of(frame));
  fmt::memory_buffer line;
  for (const dump_atom& a : frame.atoms) {
    line.clear();
    fmt::format_to(fmt::appender(line), "{} {} {} {} {} {} {} {}\n", a.id, a.type, a.x[0], a.x[1], a.x[2], a.v[0],
                   a.v[1], a.v[2]);
    file_.write({line.data(), line.size()});
  }
  file_.flush();
}

}  // namespace md
