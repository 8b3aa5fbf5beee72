#include "forces/lennard_jones.h"

namespace md {

const char* name(instruction_set isa) {
  static constexpr const char* names[] = {"baseline", "avx2", "avx512"};
  return names[static_cast<int>(isa)];
}

instruction_set best_instruction_set() {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx512f") != 0) return instruction_set::avx512;
  if (__builtin_cpu_supports("avx2") != 0) return instruction_set::avx2;
#endif
  return instruction_set::baseline;
}

lennard_jones_function lennard_jones_forces(list_style style, instruction_set isa) {
  static const detail::lennard_jones_variants tables[] = {detail::lennard_jones_baseline(),
                                                          detail::lennard_jones_avx2(), detail::lennard_jones_avx512()};
  const detail::lennard_jones_variants& t = tables[static_cast<int>(isa)];
  return style == list_style::full ? t.full : t.half;
}

}  // namespace md
