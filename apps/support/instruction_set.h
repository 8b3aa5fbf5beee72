#pragma once

namespace apps {

/// What kernels of the CPU are compiled for beside the baseline, by function attributes; chosen at run time.
enum class instruction_set { baseline, avx2, avx512 };
const char* name(instruction_set isa);

/// The widest that this machine can run.
instruction_set best_instruction_set();

}  // namespace apps
