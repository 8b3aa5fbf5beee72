# Included before project(). The compiler is what the user chose by CXX, a toolchain file or the cache, else the system's
# default, which programs that use an installed imbrex are compiled by, too. With IMBREX_PREFER_CLANG (the presets with
# sanitizers, whose reports are better by clang) it is clang 19 where that is installed.
option(IMBREX_PREFER_CLANG "Compile by clang 19 where it is installed and no compiler was chosen" OFF)
mark_as_advanced(IMBREX_PREFER_CLANG)
if(IMBREX_PREFER_CLANG AND NOT DEFINED CMAKE_CXX_COMPILER AND NOT DEFINED ENV{CXX} AND NOT DEFINED CMAKE_TOOLCHAIN_FILE)
  find_program(IMBREX_CLANG_19 clang++-19)
  mark_as_advanced(IMBREX_CLANG_19)
  if(IMBREX_CLANG_19)
    set(CMAKE_CXX_COMPILER "${IMBREX_CLANG_19}" CACHE FILEPATH "C++ compiler")
  endif()
endif()
