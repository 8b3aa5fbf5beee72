# CMake 3.25 does not know that nvcc 13 compiles C++20. Included where the language CUDA has been enabled.
if(CMAKE_CUDA_COMPILER_ID STREQUAL "NVIDIA" AND NOT CMAKE_CUDA20_STANDARD_COMPILE_OPTION)
  set(CMAKE_CUDA20_STANDARD_COMPILE_OPTION "-std=c++20")
  set(CMAKE_CUDA20_EXTENSION_COMPILE_OPTION "-std=c++20")
endif()

# Where the language was enabled after this file had been read (find_package before enable_language).
function(imbrex_say_cuda_standard target)
  if(CMAKE_CUDA_COMPILER_ID STREQUAL "NVIDIA" AND NOT CMAKE_CUDA20_STANDARD_COMPILE_OPTION)
    target_compile_options(${target} PRIVATE $<$<COMPILE_LANGUAGE:CUDA>:-std=c++20>)
  endif()
endfunction()

# imbrex_add_kernels(name file.cu ...): a static library of CUDA kernels, compiled as C++20 without contraction to FMA,
# to be linked to a program beside imbrex::imbrex.
function(imbrex_add_kernels name)
  if(NOT CMAKE_CUDA_COMPILER_LOADED)
    message(FATAL_ERROR "imbrex_add_kernels(${name} ...): enable CUDA first: project(... LANGUAGES CXX CUDA)")
  endif()
  add_library(${name} STATIC ${ARGN})
  target_include_directories(${name} PUBLIC "${CMAKE_CURRENT_SOURCE_DIR}")
  # The library behind it, in whatever order a program names the two.
  target_link_libraries(${name} PUBLIC imbrex::cuda INTERFACE imbrex::imbrex)
  target_compile_options(${name} PRIVATE -fmad=false --expt-relaxed-constexpr -lineinfo
    -Xcompiler=-Wall,-Wextra,-Wshadow)
  set_target_properties(${name} PROPERTIES CUDA_STANDARD 20 POSITION_INDEPENDENT_CODE ON)
  imbrex_say_cuda_standard(${name})
endfunction()

set(IMBREX_EMBED_KERNEL "${CMAKE_CURRENT_LIST_DIR}/imbrexEmbedKernel.cmake")
# Kernel files have to be OpenCL C, too, wherever the program will run: said when they are built, where there is a clang.
find_program(IMBREX_OPENCL_CHECKER NAMES clang-19 clang-20 clang-18 clang-17 clang-16 clang-15 clang
  DOC "A clang that checks kernel files as OpenCL C; empty: they are not checked")
mark_as_advanced(IMBREX_OPENCL_CHECKER)
foreach(folder IN ITEMS "${CMAKE_CURRENT_LIST_DIR}/../src" "${CMAKE_CURRENT_LIST_DIR}/../../../include")
  if(EXISTS "${folder}/imbrex/device/kernel/dialect_opencl.h")
    set(IMBREX_KERNEL_DIALECT "${folder}/imbrex/device/kernel/dialect_opencl.h")
  endif()
endforeach()
set(imbrex_check_kernels "")
if(IMBREX_OPENCL_CHECKER AND IMBREX_KERNEL_DIALECT)
  set(imbrex_check_kernels "-DOPENCL_CHECKER=${IMBREX_OPENCL_CHECKER}" "-DDIALECT=${IMBREX_KERNEL_DIALECT}")
endif()
set(IMBREX_INLINE_KERNELS "${CMAKE_CURRENT_LIST_DIR}/imbrexInlineKernels.cmake")

# Of a .hk file: the C++ file that defines its kernels, for the CPU and as text for OpenCL, and the CUDA file that
# includes it. Sets cuda_file.
function(imbrex_generate_kernel_file target folder file on_cuda)
  cmake_path(GET file FILENAME name)
  cmake_path(RELATIVE_PATH file BASE_DIRECTORY "${PROJECT_SOURCE_DIR}" OUTPUT_VARIABLE shown)
  set(generated "${folder}/${name}.cc")
  add_custom_command(OUTPUT "${generated}"
    COMMAND "${CMAKE_COMMAND}" "-DFILE=${file}" "-DSHOWN=${shown}" "-DOUTPUT=${generated}" -DON_CUDA=${on_cuda}
      ${imbrex_check_kernels} -P "${IMBREX_EMBED_KERNEL}"
    DEPENDS "${file}" "${IMBREX_EMBED_KERNEL}" COMMENT "Kernels of ${shown}" VERBATIM)
  # Loops over the items of a group want the vectoriser, which -O2 of g++ keeps short.
  set_source_files_properties("${generated}" PROPERTIES SKIP_PRECOMPILE_HEADERS ON
    COMPILE_OPTIONS "-ffp-contract=off;$<$<CONFIG:Release,RelWithDebInfo>:-O3>")
  target_sources(${target} PRIVATE "${generated}")
  file(CONFIGURE OUTPUT "${folder}/${name}.cu"
    CONTENT "#include <imbrex/device/cuda/cuda_launch.h>\n#include <imbrex/device/kernel/kernel_dialect.h>\n#include \"${file}\"\n" @ONLY)
  set(cuda_file "${folder}/${name}.cu" PARENT_SCOPE)
endfunction()

# Of a C++ file: the CUDA file of its inline kernels. Sets cuda_file.
function(imbrex_generate_inline_kernels folder file)
  cmake_path(GET file FILENAME name)
  set(cuda_file "${folder}/${name}.cu")
  add_custom_command(OUTPUT "${cuda_file}"
    COMMAND "${CMAKE_COMMAND}" "-DFILE=${file}" "-DOUTPUT=${cuda_file}" -P "${IMBREX_INLINE_KERNELS}"
    DEPENDS "${file}" "${IMBREX_INLINE_KERNELS}" COMMENT "Inline kernels of ${name}" VERBATIM)
  set_property(SOURCE "${file}" APPEND PROPERTY COMPILE_DEFINITIONS IX_INLINE_KERNELS_ON_CUDA)
  set_property(SOURCE "${file}" PROPERTY SKIP_PRECOMPILE_HEADERS ON)  # they were made without that definition
  set(cuda_file "${cuda_file}" PARENT_SCOPE)
endfunction()

# imbrex_add_kernel_files(target file.hk ... file.cc ...): adds to the target the kernels of files in the dialect of
# <imbrex/device/kernel/kernel_dialect.h>: for the CPU, as text for OpenCL, and for CUDA where this imbrex has CUDA and the
# project has enabled the language. A C++ file of the target is named here for its inline kernels to run on CUDA.
# Without contraction to FMA, so that all give the same bits. Links imbrex::imbrex. Call it where the target was added.
function(imbrex_add_kernel_files target)
  set(on_cuda 0)
  if(CMAKE_CUDA_COMPILER_LOADED AND TARGET imbrex::cuda)
    set(on_cuda 1)
  endif()
  set(folder "${CMAKE_CURRENT_BINARY_DIR}/${target}_kernels")
  set(cuda_files "")
  foreach(file IN LISTS ARGN)
    cmake_path(ABSOLUTE_PATH file BASE_DIRECTORY "${CMAKE_CURRENT_SOURCE_DIR}" NORMALIZE)
    if(NOT EXISTS "${file}")
      message(FATAL_ERROR "imbrex_add_kernel_files(${target} ...): there is no ${file}")
    endif()
    set(cuda_file "")
    if(file MATCHES "\\.hk$")
      imbrex_generate_kernel_file(${target} "${folder}" "${file}" ${on_cuda})
    elseif(on_cuda)
      imbrex_generate_inline_kernels("${folder}" "${file}")
    endif()
    list(APPEND cuda_files ${cuda_file})
  endforeach()
  get_target_property(itself imbrex::imbrex ALIASED_TARGET)
  if(NOT target STREQUAL itself)
    target_link_libraries(${target} PRIVATE imbrex::imbrex)
  endif()
  if(on_cuda)
    set(on_cuda_target ${target}_kernels_on_cuda)
    if(TARGET ${on_cuda_target})
      target_sources(${on_cuda_target} PRIVATE ${cuda_files})
      return()
    endif()
    add_library(${on_cuda_target} OBJECT ${cuda_files})
    imbrex_say_cuda_standard(${on_cuda_target})
    target_link_libraries(${on_cuda_target} PRIVATE imbrex::cuda)
    target_compile_options(${on_cuda_target} PRIVATE -fmad=false --expt-relaxed-constexpr -lineinfo
      -Xcompiler=-Wall,-Wextra,-Wshadow)
    set_target_properties(${on_cuda_target} PROPERTIES CUDA_STANDARD 20 POSITION_INDEPENDENT_CODE ON)
    target_sources(${target} PRIVATE $<TARGET_OBJECTS:${on_cuda_target}>)
  endif()
endfunction()
