#include "imbrex/device/star/resident/resident_rounds.h"

#include <fmt/format.h>

#include "imbrex/base/error.h"

namespace imbrex::detail {

void check_resident(const char* name, const star_grid& g, const double* field, const resident_rounds& rounds) {
  const auto refuse = [name](const std::string& what) {
    throw usage_error(fmt::format("star_resident '{}' {}", name, what));
  };
  check_star(name, g, field, nullptr, rounds.num);
  for (const star_side s : {star_side::x_low, star_side::x_high, star_side::y_low, star_side::y_high}) {
    if (g.is_open(s)) refuse("was given a block with neighbours in x or y: only those in z may be on other GPUs");
  }
  if (rounds.cut.num_tiles() == 0 || rounds.own.faces == nullptr)
    refuse("was given rounds of no resident_star: connect one, and ask it for them");
  const resident_cut cut = resident_cut::of_depth(g, rounds.cut.depth);
  if (cut.tiles_x != rounds.cut.tiles_x || cut.tiles_y != rounds.cut.tiles_y || cut.tiles_z != rounds.cut.tiles_z) {
    refuse(fmt::format("was given a block of {} x {} x {} cells, not the one that its resident_star was connected for",
                       g.nx, g.ny, g.nz));
  }
  if (g.is_open(star_side::z_low) != (rounds.below.faces != nullptr) ||
      g.is_open(star_side::z_high) != (rounds.above.faces != nullptr))
    refuse("was given a block whose open sides in z are not those where its resident_star has neighbours");
}

}  // namespace imbrex::detail
