# What a builder may choose, and the compile options that follow from it.
option(BUILD_SHARED_LIBS "Build libimbrex as a shared library" OFF)
option(IMBREX_BUILD_TESTS "Build the tests" ${PROJECT_IS_TOP_LEVEL})
option(IMBREX_BUILD_EXAMPLES "Build examples/" ${PROJECT_IS_TOP_LEVEL})
option(IMBREX_BUILD_BENCH "Build bench/ (needs google-benchmark)" ${PROJECT_IS_TOP_LEVEL})
option(IMBREX_BUILD_SESSIONS "Build sessions/ (libimbrex_sessions.so) where an MPI is found" ON)
set(IMBREX_BUILD_PYTHON AUTO CACHE STRING "Build the package of Python: ON, OFF, or AUTO: with the tests, where that can be done")
set_property(CACHE IMBREX_BUILD_PYTHON PROPERTY STRINGS ON OFF AUTO)
option(IMBREX_CHECKS "Register the format, lint, layer, header and name checks as tests" OFF)
option(IMBREX_WERROR "Treat compiler warnings as errors" OFF)
option(IMBREX_NATIVE "Optimise for this machine's processor (-march=native)" OFF)
set(IMBREX_SANITIZE "" CACHE STRING "Sanitizer: empty, address (with undefined and leak) or thread")
set_property(CACHE IMBREX_SANITIZE PROPERTY STRINGS "" address thread)

if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 12)
  message(FATAL_ERROR "g++ ${CMAKE_CXX_COMPILER_VERSION} is too old: imbrex needs g++ >= 12 or clang >= 16 "
    "(set CXX, for example CXX=g++-12, and configure an empty build folder)")
elseif(CMAKE_CXX_COMPILER_ID STREQUAL "Clang" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 16)
  message(FATAL_ERROR "clang ${CMAKE_CXX_COMPILER_VERSION} is too old: imbrex needs clang >= 16 or g++ >= 12 "
    "(set CXX, for example CXX=clang++-19, and configure an empty build folder)")
endif()

get_property(imbrex_multi_config GLOBAL PROPERTY GENERATOR_IS_MULTI_CONFIG)
if(NOT CMAKE_BUILD_TYPE AND NOT imbrex_multi_config)
  set(CMAKE_BUILD_TYPE RelWithDebInfo CACHE STRING "Build type" FORCE)
endif()

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_CXX_SCAN_FOR_MODULES OFF)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
if(PROJECT_IS_TOP_LEVEL)
  set(CMAKE_RUNTIME_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/bin")
  set(CMAKE_LIBRARY_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/lib")
  set(CMAKE_ARCHIVE_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/lib")
endif()

# No contraction to FMA: numerics give the same bits on every compiler, PE count and device.
add_compile_options("$<$<COMPILE_LANGUAGE:CXX>:-ffp-contract=off;-Wall;-Wextra;-Wpedantic;-Wshadow>")
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  # False alarms of g++ 12 and 13 when optimising coroutines and std::string, and about chares in unnamed namespaces.
  add_compile_options("$<$<COMPILE_LANGUAGE:CXX>:-Wno-maybe-uninitialized;-Wno-restrict;-Wno-array-bounds>"
    "$<$<COMPILE_LANGUAGE:CXX>:-Wno-stringop-overflow;-Wno-stringop-overread;-Wno-free-nonheap-object>"
    "$<$<COMPILE_LANGUAGE:CXX>:-Wno-mismatched-new-delete;-Wno-dangling-pointer>"
    "$<$<COMPILE_LANGUAGE:CXX>:-Wno-subobject-linkage>")
  # It collects its garbage every few seconds otherwise, an eighth of the time that such sources take. Where memory is
  # scarce it has to.
  cmake_host_system_information(RESULT imbrex_memory QUERY TOTAL_PHYSICAL_MEMORY)
  cmake_host_system_information(RESULT imbrex_host_cores QUERY NUMBER_OF_LOGICAL_CORES)
  math(EXPR imbrex_memory_for_each "${imbrex_memory} / ${imbrex_host_cores}")
  if(imbrex_memory_for_each GREATER 1800)
    add_compile_options("$<$<COMPILE_LANGUAGE:CXX>:--param=ggc-min-heapsize=600000>")
  endif()
endif()
if(IMBREX_WERROR)
  add_compile_options("$<$<COMPILE_LANGUAGE:CXX>:-Werror>")
endif()
if(IMBREX_NATIVE)
  add_compile_options("$<$<COMPILE_LANGUAGE:CXX>:-march=native>")
endif()

if(IMBREX_SANITIZE STREQUAL "address")
  set(imbrex_sanitizer_flags -fsanitize=address,undefined -fno-sanitize-recover=all)
elseif(IMBREX_SANITIZE STREQUAL "thread")
  set(imbrex_sanitizer_flags -fsanitize=thread)
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    add_compile_options("$<$<COMPILE_LANGUAGE:CXX>:-Wno-tsan>")
  endif()
elseif(NOT IMBREX_SANITIZE STREQUAL "")
  message(FATAL_ERROR "IMBREX_SANITIZE=${IMBREX_SANITIZE} is unknown: use address, thread or nothing")
endif()
if(IMBREX_SANITIZE)
  add_compile_options("$<$<COMPILE_LANGUAGE:CXX>:${imbrex_sanitizer_flags};-fno-omit-frame-pointer>")
  add_link_options(${imbrex_sanitizer_flags})
endif()
