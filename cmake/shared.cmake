# What shared libraries are besides static ones, with BUILD_SHARED_LIBS: libimbrex.so.0.y shows imbrex's own names, at the
# version IMBREX_0.y, and none of the libraries that it is made with; programs find it, and it finds its like, wherever
# they are installed to together.
if(BUILD_SHARED_LIBS AND NOT DEFINED CMAKE_INSTALL_RPATH)
  file(RELATIVE_PATH imbrex_to_libraries "${CMAKE_INSTALL_FULL_BINDIR}" "${CMAKE_INSTALL_FULL_LIBDIR}")
  set(CMAKE_INSTALL_RPATH "$ORIGIN" "$ORIGIN/${imbrex_to_libraries}")
  set(CMAKE_INSTALL_RPATH_USE_LINK_PATH ON)  # libraries from modules, Spack ...
endif()
# CUDA's runtime library is linked statically where imbrex is: programs and libimbrex.so have one of it together.
set(imbrex_cudart CUDA::cudart_static)
if(BUILD_SHARED_LIBS)
  set(imbrex_cudart CUDA::cudart)
endif()
configure_file(cmake/exported.map.in "${PROJECT_BINARY_DIR}/exported.map" @ONLY)

# imbrex_show_own_names(target)
function(imbrex_show_own_names target)
  if(BUILD_SHARED_LIBS)
    target_link_options(${target} PRIVATE "LINKER:--version-script=${PROJECT_BINARY_DIR}/exported.map")
    set_property(TARGET ${target} APPEND PROPERTY LINK_DEPENDS "${PROJECT_BINARY_DIR}/exported.map")
    if(CMAKE_READELF)
      add_custom_command(TARGET ${target} POST_BUILD COMMAND "${CMAKE_COMMAND}" "-DREADELF=${CMAKE_READELF}"
        "-DLIBRARY=$<TARGET_FILE:${target}>" -P "${PROJECT_SOURCE_DIR}/cmake/one_cxx_library.cmake" VERBATIM)
    endif()
  endif()
endfunction()
