# cmake -DFILE=saxpy.hk -DSHOWN=kernels/saxpy.hk -DOUTPUT=saxpy.hk.cc -DON_CUDA=0|1 -P imbrexEmbedKernel.cmake
# Writes the C++ file that defines the kernels of a .hk file: their CPU versions, for several instruction sets, and their
# text for OpenCL, whose build errors name SHOWN and its lines. Compilers take string literals of any length in pieces.
file(READ "${FILE}" text)
string(REGEX REPLACE "(^|\n)#pragma once *\n" "\\1\n" text "${text}")  # OpenCL's compiler would warn
string(FIND "${text}" ")imbrex\"" found)
if(NOT found EQUAL -1)
  message(FATAL_ERROR "${FILE}: the characters )imbrex\" cannot be embedded")
endif()
set(on_cuda "")
if(ON_CUDA)
  set(on_cuda "#define IX_KERNELS_ON_CUDA\n")
endif()

# The loops of all kernels for an instruction set.
function(loops_for name target result)
  set(${result} "namespace ix_for_${name} {
#if defined(__clang__)
#pragma clang attribute push(__attribute__((target(\"${target}\"))), apply_to = function)
#else
#pragma GCC push_options
#pragma GCC target(\"${target}\")
#endif
#line 1 \"${FILE}\"
${text}
#line 1 \"${OUTPUT}\"
#if defined(__clang__)
#pragma clang attribute pop
#else
#pragma GCC pop_options
#endif
}  // namespace ix_for_${name}
" PARENT_SCOPE)
endfunction()
loops_for(avx2 "avx2" for_avx2)
loops_for(avx512 "avx512f,avx512bw,avx512dq,avx512vl" for_avx512)

file(WRITE "${OUTPUT}" "// Generated from ${SHOWN}.
${on_cuda}#define IX_KERNEL_TEXT imbrex_kernel_text
#include <imbrex/device/kernel_dialect.h>
static constexpr char imbrex_kernel_text[] = IX_OPENCL_DIALECT \"#line 1 \\\"${SHOWN}\\\"\\n\"
R\"imbrex(${text})imbrex\";
#if defined(__x86_64__) && defined(__OPTIMIZE__)
#define IX_CPU_KERNEL IX_CPU_LOOPS
${for_avx2}${for_avx512}#undef IX_CPU_KERNEL
#endif
#define IX_CPU_KERNEL IX_CPU_DEFINED
#include \"${FILE}\"
")
