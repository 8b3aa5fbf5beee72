# Finds what imbrex stands on. Each optional feature F leaves two variables: IMBREX_HAVE_F (0 or 1) and
# IMBREX_NOTE_F (what was found, or why it is off); both go to imbrex/base/build_config.h.

# Finds a required package, or stops naming the Debian package that carries it.
macro(imbrex_require package debian_package)
  find_package(${package} QUIET ${ARGN})
  if(NOT ${package}_FOUND)
    message(FATAL_ERROR "${package} was not found: install ${debian_package} "
      "(scripts/setup does), or point CMAKE_PREFIX_PATH to it")
  endif()
endmacro()

# Declares IMBREX_WITH_<feature>=AUTO|ON|OFF and switches the feature off until it is found.
macro(imbrex_feature feature description)
  set(IMBREX_WITH_${feature} AUTO CACHE STRING "${description}: AUTO, ON or OFF")
  set_property(CACHE IMBREX_WITH_${feature} PROPERTY STRINGS AUTO ON OFF)
  if(NOT IMBREX_WITH_${feature} MATCHES "^(AUTO|ON|OFF)$")
    message(FATAL_ERROR "IMBREX_WITH_${feature}=${IMBREX_WITH_${feature}}: use AUTO, ON or OFF")
  endif()
  set(IMBREX_HAVE_${feature} 0)
  set(IMBREX_NOTE_${feature} "switched off by IMBREX_WITH_${feature}=OFF")
endmacro()

# Records that a feature is missing; an error when the user asked for it.
macro(imbrex_feature_missing feature debian_package)
  set(IMBREX_NOTE_${feature} "not found at build time: install ${debian_package} and configure again")
  if(IMBREX_WITH_${feature} STREQUAL "ON")
    message(FATAL_ERROR "IMBREX_WITH_${feature}=ON, but it was not found: install ${debian_package}, "
      "or configure with -DIMBREX_WITH_${feature}=AUTO")
  endif()
endmacro()

set(THREADS_PREFER_PTHREAD_FLAG ON)
imbrex_require(Threads libc6-dev)
imbrex_require(fmt libfmt-dev)
imbrex_require(spdlog libspdlog-dev)
imbrex_require(CLI11 libcli11-dev)
imbrex_require(nlohmann_json nlohmann-json3-dev)

imbrex_feature(MPI "Transport over MPI")
if(NOT IMBREX_WITH_MPI STREQUAL "OFF")
  set(MPI_CXX_SKIP_MPICXX TRUE)
  find_package(MPI QUIET COMPONENTS CXX)
  if(NOT MPI_CXX_FOUND)
    imbrex_feature_missing(MPI "libopenmpi-dev and openmpi-bin (or libmpich-dev and mpich)")
  elseif(MPI_CXX_VERSION VERSION_LESS 3.1)
    set(IMBREX_NOTE_MPI "found MPI ${MPI_CXX_VERSION}, which is older than 3.1")
  else()
    set(IMBREX_HAVE_MPI 1)
    set(IMBREX_NOTE_MPI "MPI ${MPI_CXX_VERSION}")
  endif()
endif()

imbrex_feature(HWLOC "Processor topology by hwloc")
if(NOT IMBREX_WITH_HWLOC STREQUAL "OFF")
  find_package(PkgConfig QUIET)
  if(PkgConfig_FOUND)
    pkg_check_modules(IMBREX_HWLOC QUIET IMPORTED_TARGET hwloc>=2.0)
  endif()
  if(IMBREX_HWLOC_FOUND)
    set(IMBREX_HAVE_HWLOC 1)
    set(IMBREX_NOTE_HWLOC "hwloc ${IMBREX_HWLOC_VERSION}")
  else()
    imbrex_feature_missing(HWLOC "libhwloc-dev and pkg-config")
  endif()
endif()

# Not in this version; their places in build_config.h stay the same when they come.
foreach(feature CUDA UCX OPENCL HDF5)
  set(IMBREX_HAVE_${feature} 0)
  set(IMBREX_NOTE_${feature} "not part of imbrex ${PROJECT_VERSION}")
endforeach()
