# Some sources of a folder compiled as one, which takes half the time where all are (a build from nothing): names
# that a source keeps to itself are not used again in its folder. Off for who works on the library and compiles single
# files again and again, or has more cores than it has folders.
option(IMBREX_UNITY_BUILD "Compile the library's sources by folders" ON)

# imbrex_unite(target): its sources in C++, at most ten of a folder at once.
function(imbrex_unite target)
  if(NOT IMBREX_UNITY_BUILD)
    return()
  endif()
  get_target_property(sources ${target} SOURCES)
  list(FILTER sources INCLUDE REGEX "\\.cc$")
  list(SORT sources)
  foreach(source IN LISTS sources)
    cmake_path(GET source PARENT_PATH folder)
    string(MD5 key "${folder}")
    math(EXPR num_${key} "${num_${key}} + 1")
    math(EXPR part "(${num_${key}} - 1) / 10")
    cmake_path(GET folder FILENAME name)
    string(SUBSTRING "${key}" 0 6 short)
    set_source_files_properties("${source}" PROPERTIES UNITY_GROUP "${name}_${short}_${part}")
  endforeach()
  set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_MODE GROUP)
endfunction()
