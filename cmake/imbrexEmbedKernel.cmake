# cmake -DFILE=saxpy.hk -DSHOWN=kernels/saxpy.hk -DOUTPUT=saxpy.hk.cc -DON_CUDA=0|1 -P imbrexEmbedKernel.cmake
# Writes the C++ file that defines the kernels of a .hk file: their CPU versions and their text for OpenCL, whose build
# errors name SHOWN and its lines. Compilers take string literals of any length in pieces.
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
file(WRITE "${OUTPUT}" "// Generated from ${SHOWN}.
${on_cuda}#define IX_KERNEL_TEXT imbrex_kernel_text
#include <imbrex/device/kernel_dialect.h>
static constexpr char imbrex_kernel_text[] = IX_OPENCL_DIALECT \"#line 1 \\\"${SHOWN}\\\"\\n\"
R\"imbrex(${text})imbrex\";
#include \"${FILE}\"
")
