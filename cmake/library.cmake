# libimbrex, from every .cc below src/imbrex/<layer>/. A file whose name starts with a feature (mpi_transport.cc,
# hwloc_topology.cc) is built only where that feature was found.
file(GLOB_RECURSE imbrex_sources CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/src/imbrex/*.cc")
file(GLOB_RECURSE imbrex_headers CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/src/imbrex/*.h")
list(FILTER imbrex_sources EXCLUDE REGEX "/src/imbrex/fields/")
foreach(feature MPI HWLOC METIS CUDA UCX OPENCL ISAL TOML HDF5)
  if(NOT IMBREX_HAVE_${feature})
    string(TOLOWER "${feature}" prefix)
    list(FILTER imbrex_sources EXCLUDE REGEX "/${prefix}(_[^/]*)?\\.cc$")
    list(FILTER imbrex_headers EXCLUDE REGEX "/${prefix}(_[^/]*)?\\.h$")
  endif()
endforeach()

# The machines that are known by name, as texts in a source.
file(GLOB imbrex_machines CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/share/machines/*.toml")
set(imbrex_known "")
foreach(file ${imbrex_machines})
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${file}")
  file(READ "${file}" text)
  get_filename_component(name "${file}" NAME_WE)
  string(APPEND imbrex_known "    {\"${name}\", R\"toml(${text})toml\"},\n")
endforeach()
file(CONFIGURE OUTPUT "${PROJECT_BINARY_DIR}/known_machines.cc" @ONLY CONTENT
"// Made by CMake from share/machines.
#include \"imbrex/virtual_time/machine/known_machines.h\"

namespace imbrex::detail {

std::span<const known_machine> all_known_machines() {
  static constexpr known_machine all[] = {
@imbrex_known@  };
  return all;
}

}  // namespace imbrex::detail
")
list(APPEND imbrex_sources "${PROJECT_BINARY_DIR}/known_machines.cc")

# The headers of the dialect, as texts: what compiles kernels from strings at run time reads them.
file(GLOB imbrex_dialect_headers CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/src/imbrex/device/kernel/*.h")
list(FILTER imbrex_dialect_headers EXCLUDE REGEX "/(dialect_files|kernel_text|late_kernel)\\.h$")
set(imbrex_dialect "")
foreach(file ${imbrex_dialect_headers})
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${file}")
  file(READ "${file}" text)
  get_filename_component(name "${file}" NAME)
  string(APPEND imbrex_dialect "    {\"imbrex/device/kernel/${name}\", R\"header(${text})header\"},\n")
endforeach()
file(CONFIGURE OUTPUT "${PROJECT_BINARY_DIR}/dialect_files.cc" @ONLY CONTENT
"// Made by CMake from src/imbrex/device/kernel.
#include \"imbrex/device/kernel/dialect_files.h\"

namespace imbrex::detail {

std::span<const dialect_file> dialect_files() {
  static constexpr dialect_file all[] = {
@imbrex_dialect@  };
  return all;
}

}  // namespace imbrex::detail
")
list(APPEND imbrex_sources "${PROJECT_BINARY_DIR}/dialect_files.cc")

string(TOLOWER "${CMAKE_CXX_COMPILER_ID} ${CMAKE_CXX_COMPILER_VERSION}" IMBREX_COMPILER)
configure_file(cmake/build_config.h.in "${PROJECT_BINARY_DIR}/include/imbrex/base/build_config.h" @ONLY)

# The command line tool owns the target name `imbrex`'s output; hence the suffix here.
add_library(imbrex_library ${imbrex_sources} ${imbrex_headers})
add_library(imbrex::imbrex ALIAS imbrex_library)
set_target_properties(imbrex_library PROPERTIES
  LINKER_LANGUAGE CXX
  OUTPUT_NAME imbrex
  EXPORT_NAME imbrex
  VERSION ${PROJECT_VERSION}
  SOVERSION ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR})
imbrex_unite(imbrex_library)
# An object of its own: tests put a fake of the driver in its place.
set_source_files_properties("${PROJECT_SOURCE_DIR}/src/imbrex/device/cuda/api/cuda_driver.cc" PROPERTIES
  SKIP_UNITY_BUILD_INCLUSION ON)
imbrex_precompile(imbrex_library algorithm array cstdint fmt/format.h functional memory string unordered_map utility
  variant vector)
target_compile_features(imbrex_library PUBLIC cxx_std_20)
imbrex_show_own_names(imbrex_library)
if(BUILD_SHARED_LIBS)
  target_compile_definitions(imbrex_library PUBLIC IMBREX_SHARED_LIBRARY)  # see thread_place.h
endif()
target_include_directories(imbrex_library PUBLIC
  "$<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/src>"
  "$<BUILD_INTERFACE:${PROJECT_BINARY_DIR}/include>"
  "$<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>")
target_link_libraries(imbrex_library
  PUBLIC fmt::fmt Threads::Threads
  PRIVATE ${CMAKE_DL_LIBS} spdlog::spdlog $<BUILD_INTERFACE:CLI11::CLI11> $<BUILD_INTERFACE:nlohmann_json::nlohmann_json>)
if(IMBREX_HAVE_MPI)
  target_link_libraries(imbrex_library PRIVATE MPI::MPI_CXX)
endif()
if(IMBREX_HAVE_UCX)
  target_link_libraries(imbrex_library PRIVATE PkgConfig::IMBREX_UCX)
endif()
if(IMBREX_HAVE_OPENCL)
  target_link_libraries(imbrex_library PUBLIC OpenCL::OpenCL)
endif()
if(IMBREX_HAVE_CUDA)
  # The runtime library loads the driver when the program runs: it starts without one.
  target_link_libraries(imbrex_library PUBLIC ${imbrex_cudart})
endif()
# What libraries of kernels need (see imbrexKernels.cmake): the headers, but not the C++ library's requirement of C++20,
# from which CMake 3.25 concludes that nvcc 13 cannot compile them.
if(IMBREX_HAVE_CUDA)
  add_library(imbrex_cuda INTERFACE)
  add_library(imbrex::cuda ALIAS imbrex_cuda)
  set_target_properties(imbrex_cuda PROPERTIES EXPORT_NAME cuda)
  target_include_directories(imbrex_cuda INTERFACE
    "$<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/src>"
    "$<BUILD_INTERFACE:${PROJECT_BINARY_DIR}/include>"
    "$<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>")
  target_link_libraries(imbrex_cuda INTERFACE ${imbrex_cudart})
endif()
# Its own kernels. Not compiled as a part of it, for the same reason.
if(IMBREX_HAVE_CUDA)
  file(GLOB_RECURSE imbrex_kernel_sources CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/src/imbrex/*.cu")
  add_library(imbrex_own_kernels OBJECT ${imbrex_kernel_sources})
  target_link_libraries(imbrex_own_kernels PRIVATE imbrex_cuda)
  set_target_properties(imbrex_own_kernels PROPERTIES CUDA_STANDARD 20 POSITION_INDEPENDENT_CODE ON)
  target_compile_options(imbrex_own_kernels PRIVATE --expt-relaxed-constexpr -lineinfo
    -Xcompiler=-Wall,-Wextra,-Wshadow)
  target_sources(imbrex_library PRIVATE $<TARGET_OBJECTS:imbrex_own_kernels>)
endif()
# And those in one source.
file(GLOB_RECURSE imbrex_kernel_files CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/src/imbrex/*.hk")
imbrex_add_kernel_files(imbrex_library ${imbrex_kernel_files})
if(IMBREX_HAVE_HWLOC)
  target_link_libraries(imbrex_library PRIVATE PkgConfig::IMBREX_HWLOC)
endif()
if(IMBREX_HAVE_LIBDEFLATE)
  target_link_libraries(imbrex_library PRIVATE PkgConfig::IMBREX_LIBDEFLATE)
elseif(IMBREX_HAVE_ZLIB)
  target_link_libraries(imbrex_library PRIVATE ZLIB::ZLIB)
endif()
if(IMBREX_HAVE_ISAL)
  target_link_libraries(imbrex_library PRIVATE PkgConfig::IMBREX_ISAL)
endif()
if(IMBREX_HAVE_TOML)
  target_include_directories(imbrex_library PRIVATE ${IMBREX_TOML_INCLUDE_DIRS})
endif()
if(IMBREX_HAVE_METIS)
  target_link_libraries(imbrex_library PRIVATE imbrex_metis::metis)
endif()

# libimbrex_fields, apart: programs that write no fields do not load HDF5. Without HDF5 it says so when it is used.
file(GLOB imbrex_field_sources CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/src/imbrex/fields/*.cc")
if(NOT IMBREX_HAVE_HDF5)
  list(FILTER imbrex_field_sources EXCLUDE REGEX "/hdf5_[^/]*\\.cc$")
endif()
if(NOT IMBREX_HAVE_ADIOS2)
  list(FILTER imbrex_field_sources EXCLUDE REGEX "/bp_[^/]*\\.cc$")
endif()
add_library(imbrex_fields ${imbrex_field_sources})
add_library(imbrex::fields ALIAS imbrex_fields)
set_target_properties(imbrex_fields PROPERTIES
  LINKER_LANGUAGE CXX
  EXPORT_NAME fields
  VERSION ${PROJECT_VERSION}
  SOVERSION ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR})
target_link_libraries(imbrex_fields PUBLIC imbrex_library)
imbrex_show_own_names(imbrex_fields)
if(IMBREX_HAVE_HDF5)
  target_link_libraries(imbrex_fields PRIVATE PkgConfig::IMBREX_HDF5)
endif()
if(IMBREX_HAVE_ADIOS2)
  target_link_libraries(imbrex_fields PRIVATE adios2::c)
  # The wheel of PyPI has what ADIOS2 needs in a folder beside it, where ld does not look by itself.
  get_target_property(imbrex_adios2_library adios2::c LOCATION)
  cmake_path(GET imbrex_adios2_library PARENT_PATH imbrex_adios2_folder)
  if(EXISTS "${imbrex_adios2_folder}/../adios2.libs")
    target_link_options(imbrex_fields INTERFACE "LINKER:-rpath-link,${imbrex_adios2_folder}/../adios2.libs")
  endif()
endif()
