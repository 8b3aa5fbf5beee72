# What shared libraries are besides static ones, with BUILD_SHARED_LIBS: libimbrex.so.0.y shows imbrex's own names, at the
# version IMBREX_0.y, and none of the libraries that it is made with; programs find it, and it finds its like, wherever
# they are installed to together.
if(BUILD_SHARED_LIBS AND NOT DEFINED CMAKE_INSTALL_RPATH)
  file(RELATIVE_PATH imbrex_to_libraries "${CMAKE_INSTALL_FULL_BINDIR}" "${CMAKE_INSTALL_FULL_LIBDIR}")
  set(CMAKE_INSTALL_RPATH "$ORIGIN" "$ORIGIN/${imbrex_to_libraries}")
  set(CMAKE_INSTALL_RPATH_USE_LINK_PATH ON)  # libraries from modules, Spack ...
endif()
# A libimbrex.so that has the C++ library inside has one of its own beside the program's: what a coroutine of the program
# throws is nowhere to be found there, and a job ends with any exit code and no word.
if(BUILD_SHARED_LIBS AND NOT IMBREX_CXX_LIBRARY_IS_SHARED)
  separate_arguments(flags NATIVE_COMMAND "${CMAKE_SHARED_LINKER_FLAGS}")
  set(probe "${PROJECT_BINARY_DIR}/cxx_library_probe")
  try_compile(linked SOURCE_FROM_CONTENT probe.cc "#include <stdexcept>\nint main() { throw std::runtime_error(\"\"); }\n"
    LINK_OPTIONS ${flags} COPY_FILE "${probe}")
  if(linked AND CMAKE_READELF)
    execute_process(COMMAND "${CMAKE_READELF}" -d "${probe}" OUTPUT_VARIABLE needed)
    if(NOT needed MATCHES "NEEDED[^\n]*lib(std)?c\\+\\+")
      message(FATAL_ERROR "${CMAKE_CXX_COMPILER} links the C++ library statically (-static-libstdc++, or its own default), and "
        "exceptions do not get from programs into a shared libimbrex that has one of its own: take a compiler or flags that link "
        "libstdc++.so, or configure with -DBUILD_SHARED_LIBS=OFF")
    endif()
  endif()
  set(IMBREX_CXX_LIBRARY_IS_SHARED TRUE CACHE INTERNAL "")
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
  endif()
endfunction()
