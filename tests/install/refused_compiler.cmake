# What only the library's own compiler can use is refused to others, in find_package: objects of link-time optimisation
# and sanitized ones. Plays such packages by the files of the one in PREFIX, with other words about how it was built.
file(REMOVE_RECURSE "${PLACE}")
file(GLOB_RECURSE package "${PREFIX}/*/imbrexConfig.cmake")
cmake_path(GET package PARENT_PATH package)
file(READ "${package}/imbrexConfig.cmake" config)

# refused(name pattern variable=value...): the message of find_package, when the package says so of itself.
function(refused name pattern)
  set(changed "${config}")
  foreach(assignment IN LISTS ARGN)
    string(REGEX MATCH "^([^=]+)=(.*)$" unused "${assignment}")
    string(REGEX REPLACE "set\\(${CMAKE_MATCH_1} [^)]*\\)" "set(${CMAKE_MATCH_1} \"${CMAKE_MATCH_2}\")" next "${changed}")
    if(next STREQUAL changed)
      message(FATAL_ERROR "imbrexConfig.cmake does not set ${CMAKE_MATCH_1}, or to ${CMAKE_MATCH_2} already")
    endif()
    set(changed "${next}")
  endforeach()
  set(project "${PLACE}/${name}")
  file(WRITE "${project}/package/imbrexConfig.cmake" "${changed}")
  file(WRITE "${project}/CMakeLists.txt" "cmake_minimum_required(VERSION 3.25)\nproject(user LANGUAGES CXX)\n"
    "find_package(imbrex REQUIRED PATHS \"${project}/package\" NO_DEFAULT_PATH)\n")
  execute_process(COMMAND "${CMAKE_COMMAND}" -S "${project}" -B "${project}/build" -G "${GENERATOR}"
    "-DCMAKE_CXX_COMPILER=${COMPILER}" RESULT_VARIABLE status OUTPUT_VARIABLE output ERROR_VARIABLE output)
  string(REGEX REPLACE "[ \n]+" " " output "${output}")
  if(status STREQUAL "0" OR NOT output MATCHES "${pattern}")
    message(FATAL_ERROR "${name}: expected find_package to fail with '${pattern}', but it ended with ${status}: ${output}")
  endif()
endfunction()

refused(sanitized "with the sanitizer address by Other 1" imbrex_SANITIZER=address imbrex_CXX_COMPILER_ID=Other
  imbrex_CXX_COMPILER_VERSION=1)
refused(link_time "link-time optimisation by Other 1" imbrex_LINK_TIME_OPTIMISED=ON imbrex_CXX_COMPILER_ID=Other
  imbrex_CXX_COMPILER_VERSION=1)
refused(link_time_version "link-time optimisation by [A-Za-z]+ 1" imbrex_LINK_TIME_OPTIMISED=ON
  imbrex_CXX_COMPILER_VERSION=1)
