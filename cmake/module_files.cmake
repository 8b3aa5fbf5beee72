# Files of environment modules, for Lmod (.lua) and Environment Modules, with the prefix that is installed to: a folder for
# `module use`, or to be copied to where a cluster has its own.
set(imbrex_module_names PROJECT_VERSION PROJECT_DESCRIPTION CMAKE_INSTALL_DATADIR CMAKE_INSTALL_BINDIR CMAKE_INSTALL_LIBDIR)
set(imbrex_module_script "")
foreach(name IN LISTS imbrex_module_names)
  string(APPEND imbrex_module_script "set(${name} [[${${name}}]])\n")
endforeach()
string(APPEND imbrex_module_script [[
get_filename_component(CMAKE_INSTALL_PREFIX "${CMAKE_INSTALL_PREFIX}" ABSOLUTE)
]])
foreach(kind IN ITEMS lua tcl)
  set(ending "")
  if(kind STREQUAL "lua")
    set(ending .lua)
  endif()
  string(APPEND imbrex_module_script "configure_file(\"${PROJECT_SOURCE_DIR}/share/packages/modulefiles/imbrex.${kind}.in\" "
    "\"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/${CMAKE_INSTALL_DATADIR}/imbrex/modulefiles/imbrex/${PROJECT_VERSION}${ending}\" @ONLY)\n")
endforeach()
install(CODE "${imbrex_module_script}")
