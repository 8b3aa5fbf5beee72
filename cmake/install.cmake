# `cmake --install` and find_package(imbrex). The component imbrex is all of it but the applications.
include(CMakePackageConfigHelpers)
set(imbrex_package_folder "${CMAKE_INSTALL_LIBDIR}/cmake/imbrex")

install(TARGETS imbrex_library imbrex_fields EXPORT imbrexTargets)
if(IMBREX_HAVE_CUDA)
  install(TARGETS imbrex_cuda EXPORT imbrexTargets)
endif()
install(DIRECTORY "${PROJECT_SOURCE_DIR}/src/imbrex" "${PROJECT_BINARY_DIR}/include/imbrex"
  DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}" FILES_MATCHING PATTERN "*.h")
install(EXPORT imbrexTargets NAMESPACE imbrex:: DESTINATION "${imbrex_package_folder}")

set(IMBREX_LINK_TIME_OPTIMISED OFF)
if(CMAKE_INTERPROCEDURAL_OPTIMIZATION OR CMAKE_CXX_FLAGS MATCHES "-flto")
  set(IMBREX_LINK_TIME_OPTIMISED ON)
endif()
configure_package_config_file(cmake/imbrexConfig.cmake.in "${PROJECT_BINARY_DIR}/imbrexConfig.cmake"
  INSTALL_DESTINATION "${imbrex_package_folder}" NO_SET_AND_CHECK_MACRO)
write_basic_package_version_file("${PROJECT_BINARY_DIR}/imbrexConfigVersion.cmake" COMPATIBILITY SameMinorVersion)
install(FILES cmake/imbrexKernels.cmake cmake/imbrexEmbedKernel.cmake cmake/imbrexCheckRegions.cmake
  cmake/imbrexInlineKernels.cmake
  "${PROJECT_BINARY_DIR}/imbrexConfig.cmake" "${PROJECT_BINARY_DIR}/imbrexConfigVersion.cmake"
  DESTINATION "${imbrex_package_folder}")
# All that the component imbrex installs.
add_custom_target(imbrex_installed DEPENDS imbrex_library imbrex_fields imbrex_tool)
if(TARGET imbrex_sessions)
  add_dependencies(imbrex_installed imbrex_sessions)
endif()
install(FILES LICENSE DESTINATION "${CMAKE_INSTALL_DOCDIR}")
