# cmake -DFILE=saxpy.hk -DSHOWN=kernels/saxpy.hk -DOUTPUT=saxpy.hk.cc -DON_CUDA=0|1 -P imbrexEmbedKernel.cmake
# With -DOPENCL_CHECKER=clang -DDIALECT=.../dialect_opencl.h it has the kernels checked as OpenCL C: what only a C++
# compiler takes is an error, at its line.
# Writes the C++ file that defines the kernels of a .hk file: their CPU versions, for several instruction sets, and their
# text for OpenCL, whose build errors name SHOWN and its lines. Compilers take string literals of any length in pieces.
file(READ "${FILE}" text)
string(REGEX REPLACE "(^|\n)#pragma once *\n" "\\1\n" text "${text}")  # OpenCL's compiler would warn
string(FIND "${text}" ")imbrex\"" found)
if(NOT found EQUAL -1)
  message(FATAL_ERROR "${FILE}: the characters )imbrex\" cannot be embedded")
endif()
include("${CMAKE_CURRENT_LIST_DIR}/imbrexCheckRegions.cmake")
imbrex_check_regions("${text}" "${SHOWN}")
# The dialect's definitions, out of the string that goes in front of every OpenCL program.
function(read_opencl_dialect result)
  file(READ "${DIALECT}" header)
  string(FIND "${header}" "#define IX_OPENCL_DIALECT" begin)
  string(SUBSTRING "${header}" ${begin} -1 lines)
  string(FIND "${lines}" "\n\n" end)
  string(SUBSTRING "${lines}" 0 ${end} lines)
  string(FIND "${lines}" "\n" end)
  string(SUBSTRING "${lines}" ${end} -1 lines)
  string(REGEX REPLACE "\n +\"" "\n" lines "${lines}")
  string(REGEX REPLACE "\\\\n\"( *\\\\)?" "" lines "${lines}")
  string(REPLACE "\\\\" "\\" lines "${lines}")
  set(${result} "${lines}" PARENT_SCOPE)
endfunction()

if(OPENCL_CHECKER)
  read_opencl_dialect(dialect)
  # Kernels get their first parameter, the dynamic shared memory, only in the program (kernel_text.h).
  string(APPEND dialect "\n#undef IX_DYNAMIC_SHARED\n"
    "#define IX_DYNAMIC_SHARED(type, name) __local type* const name = (__local type*)0")
  file(WRITE "${OUTPUT}.cl" "${dialect}\n#line 1 \"${FILE}\"\n${text}")
  execute_process(COMMAND "${OPENCL_CHECKER}" -x cl -cl-std=CL1.2 -Xclang -finclude-default-header -fsyntax-only -w
    "${OUTPUT}.cl" RESULT_VARIABLE status OUTPUT_VARIABLE said ERROR_VARIABLE said)
  if(NOT status EQUAL 0)
    message("${said}")  # as it is, for who reads file and line
    message(FATAL_ERROR "${SHOWN} is no OpenCL C, which kernels have to be besides C++: see docs/kernels.md")
  endif()
endif()

# A region that is nothing but `int i = IX_GLOBAL_ID(0); if (i < n) ...` is one of the items below n: on the CPU its loop
# ends there, instead of asking for each item, which keeps it from being vectorised or costs a mask. All stays on its line.
function(bound_regions text result)
  set(word "[A-Za-z_][A-Za-z_0-9]*")
  set(begin "([ \n]*{[ \n]*(const )?int (${word}) = IX_GLOBAL_ID\\(0\\);[ \n]*)")
  set(statement "([^;{}]*;[ \n]*}|[ \n]*{[^{}]*}[ \n]*})")
  set(done "")
  while(text MATCHES "IX_ITEMS${begin}if \\((${word}) < (${word})\\)${statement}")
    set(region "${CMAKE_MATCH_0}")
    string(FIND "${text}" "${region}" at)
    string(SUBSTRING "${text}" 0 ${at} before)
    string(LENGTH "${region}" length)
    math(EXPR at "${at} + ${length}")
    string(SUBSTRING "${text}" ${at} -1 text)
    if(CMAKE_MATCH_3 STREQUAL CMAKE_MATCH_4)
      set(region "IX_ITEMS_BELOW(${CMAKE_MATCH_5})${CMAKE_MATCH_1}if (1)${CMAKE_MATCH_6}")
    endif()
    string(APPEND done "${before}${region}")
  endwhile()
  set(${result} "${done}${text}" PARENT_SCOPE)
endfunction()
bound_regions("${text}" cpu_text)

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
${cpu_text}
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
#include <imbrex/device/kernel/kernel_dialect.h>
static constexpr char imbrex_kernel_text[] = IX_OPENCL_DIALECT \"#line 1 \\\"${SHOWN}\\\"\\n\"
R\"imbrex(${text})imbrex\";
#if defined(__x86_64__) && defined(__OPTIMIZE__)
#define IX_CPU_KERNEL IX_CPU_LOOPS
${for_avx2}${for_avx512}#undef IX_CPU_KERNEL
#endif
#define IX_CPU_KERNEL IX_CPU_DEFINED
#line 1 \"${FILE}\"
${cpu_text}
")
