#include "forces/lennard_jones.h"

namespace md {

lennard_jones_function lennard_jones_forces(list_style style, instruction_set isa) {
  static const detail::lennard_jones_variants tables[] = {detail::lennard_jones_baseline(),
                                                          detail::lennard_jones_avx2(), detail::lennard_jones_avx512()};
  const detail::lennard_jones_variants& t = tables[static_cast<int>(isa)];
  return style == list_style::full ? t.full : t.half;
}

}  // namespace md
