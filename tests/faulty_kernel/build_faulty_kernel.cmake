# cmake -DEMBED=... -DCOMPILER=... -DLANGUAGE=cc|cu "-DFLAGS=-std=c++20;-I..." -DFOLDER=... -P build_faulty_kernel.cmake
# The compiler must refuse faulty.hk and name its line 8.
set(file "${CMAKE_CURRENT_LIST_DIR}/faulty.hk")
set(output "${FOLDER}/faulty.hk.${LANGUAGE}")
if(LANGUAGE STREQUAL "cc")
  execute_process(COMMAND "${CMAKE_COMMAND}" "-DFILE=${file}" -DSHOWN=tests/faulty_kernel/faulty.hk
    "-DOUTPUT=${output}" -DON_CUDA=0 -P "${EMBED}" COMMAND_ERROR_IS_FATAL ANY)
else()
  file(WRITE "${output}" "#include <imbrex/device/cuda/cuda_launch.h>\n#include <imbrex/device/kernel/kernel_dialect.h>\n#include \"${file}\"\n")
endif()
execute_process(COMMAND "${COMPILER}" ${FLAGS} -c "${output}" -o "${output}.o"
  RESULT_VARIABLE status OUTPUT_VARIABLE said ERROR_VARIABLE said)
if(status STREQUAL "0")
  message(FATAL_ERROR "${COMPILER} took faulty.hk")
endif()
if(NOT said MATCHES "faulty\\.hk(:8:|\\(8\\))")
  message(FATAL_ERROR "${COMPILER} does not name line 8 of faulty.hk:\n${said}")
endif()
