#include "support/instruction_set.h"

namespace apps {

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

}  // namespace apps
