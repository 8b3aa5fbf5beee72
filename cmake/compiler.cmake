# Included before project(): prefers clang 19 unless the user chose a compiler by CXX, a toolchain file or the cache.
if(NOT DEFINED CMAKE_CXX_COMPILER AND NOT DEFINED ENV{CXX} AND NOT DEFINED CMAKE_TOOLCHAIN_FILE)
  find_program(IMBREX_CLANG_19 clang++-19)
  mark_as_advanced(IMBREX_CLANG_19)
  if(IMBREX_CLANG_19)
    set(CMAKE_CXX_COMPILER "${IMBREX_CLANG_19}" CACHE FILEPATH "C++ compiler")
  endif()
endif()
