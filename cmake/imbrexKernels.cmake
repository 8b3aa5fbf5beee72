# CMake 3.25 does not know that nvcc 13 compiles C++20. Included where the language CUDA has been enabled.
if(CMAKE_CUDA_COMPILER_ID STREQUAL "NVIDIA" AND NOT CMAKE_CUDA20_STANDARD_COMPILE_OPTION)
  set(CMAKE_CUDA20_STANDARD_COMPILE_OPTION "-std=c++20")
  set(CMAKE_CUDA20_EXTENSION_COMPILE_OPTION "-std=c++20")
endif()

# imbrex_add_kernels(name file.cu ...): a static library of CUDA kernels, compiled as C++20 without contraction to FMA,
# to be linked to a program beside imbrex::imbrex.
function(imbrex_add_kernels name)
  if(NOT CMAKE_CUDA_COMPILER_LOADED)
    message(FATAL_ERROR "imbrex_add_kernels(${name} ...): enable CUDA first: project(... LANGUAGES CXX CUDA)")
  endif()
  add_library(${name} STATIC ${ARGN})
  target_include_directories(${name} PUBLIC "${CMAKE_CURRENT_SOURCE_DIR}")
  target_link_libraries(${name} PUBLIC imbrex::cuda)
  target_compile_options(${name} PRIVATE -fmad=false --expt-relaxed-constexpr -lineinfo
    -Xcompiler=-Wall,-Wextra,-Wshadow)
  set_target_properties(${name} PROPERTIES CUDA_STANDARD 20 POSITION_INDEPENDENT_CODE ON)
endfunction()
