#include "imbrex/device/star/star_grid.h"

#include <fmt/format.h>

#include "imbrex/base/error.h"

namespace imbrex::detail {

void check_star(const char* name, const star_grid& g, const double* field, const double* other, int steps) {
  const auto refuse = [name](const std::string& what) {
    throw usage_error(fmt::format("star_steps '{}' {}", name, what));
  };
  constexpr int most = 1 << 30;
  for (const int n : {g.nx, g.ny, g.nz}) {
    if (n < 0 || n >= most) refuse(fmt::format("was given {} cells in one direction: 0 to 2^30 - 1 will do", n));
  }
  if (steps < 0) refuse(fmt::format("was asked for {} steps: ask for 0 or more", steps));
  if (g.pitch % 2 != 0 || g.plane % 2 != 0) {
    refuse(
        fmt::format("was given a pitch of {} and a plane of {} doubles: both have to be even, since cells are read "
                    "in pairs",
                    g.pitch, g.plane));
  }
  if (g.pitch < g.nx || g.plane < g.pitch * g.ny)
    refuse(fmt::format("was given a pitch of {} and a plane of {} doubles for {} x {} cells: that is too little",
                       g.pitch, g.plane, g.nx, g.ny));
  for (const double* f : {field, other}) {
    if (reinterpret_cast<std::uintptr_t>(f) % (2 * sizeof(double)) != 0)
      refuse("was given a field whose cell (0, 0, 0) is not at a multiple of 16 bytes");
  }
  if (field == other) refuse("was given the same memory for both fields");
}

}  // namespace imbrex::detail
