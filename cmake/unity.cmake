# Some sources compiled as one, which takes half the time where all are (a build from nothing). Off for who works on the
# library and compiles single files again and again, or has many cores.
option(IMBREX_UNITY_BUILD "Compile sources of a target together" ON)

# imbrex_unite_as(target group source...): these sources, at most ten at once.
function(imbrex_unite_as target group)
  set(number 0)
  foreach(source IN LISTS ARGN)
    math(EXPR part "${number} / 10")
    math(EXPR number "${number} + 1")
    set_source_files_properties("${source}" PROPERTIES UNITY_GROUP "${group}_${part}")
  endforeach()
  set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_MODE GROUP)
endfunction()

# imbrex_without_kernels(list): leaves out sources that bring the dialect of kernels, whose words are macros, one that is
# about names in two files, and the same loops for several instruction sets.
function(imbrex_without_kernels list)
  set(kept)
  foreach(source IN LISTS ${list})
    cmake_path(ABSOLUTE_PATH source BASE_DIRECTORY "${CMAKE_CURRENT_SOURCE_DIR}" OUTPUT_VARIABLE file)
    set(of_kernels "")
    if(EXISTS "${file}")  # what is generated has none
      file(STRINGS "${file}" of_kernels REGEX "kernel_dialect\\.h|\\.hk\"|IX_INLINE|equal_names\\.h|_(rows|lanes|avx[0-9]+)\\.inc\\.h\"" LIMIT_COUNT 1)
    endif()
    if(NOT of_kernels)
      list(APPEND kept "${source}")
    endif()
  endforeach()
  set(${list} "${kept}" PARENT_SCOPE)
endfunction()

# imbrex_unite(target): its sources in C++, by folders: names that a source keeps to itself are not used again in its
# folder. Call it when all are known. Sources with options of their own, and kernels, are compiled alone.
function(imbrex_unite target)
  if(NOT IMBREX_UNITY_BUILD)
    return()
  endif()
  get_target_property(sources ${target} SOURCES)
  list(FILTER sources INCLUDE REGEX "\\.cc$")
  list(FILTER sources EXCLUDE REGEX "\\.hk\\.cc$")
  imbrex_without_kernels(sources)
  list(SORT sources)
  set(keys)
  foreach(source IN LISTS sources)
    cmake_path(GET source PARENT_PATH folder)
    string(MD5 key "${folder}")
    cmake_path(GET folder FILENAME name)
    string(SUBSTRING "${key}" 0 6 key)
    list(APPEND keys ${name}_${key})
    list(APPEND of_${name}_${key} "${source}")
  endforeach()
  list(REMOVE_DUPLICATES keys)
  foreach(key IN LISTS keys)
    imbrex_unite_as(${target} ${key} ${of_${key}})
  endforeach()
endfunction()

# imbrex_unite_tests(target): its sources named _test, each of which keeps its names in a namespace of its own.
function(imbrex_unite_tests target)
  if(NOT IMBREX_UNITY_BUILD)
    return()
  endif()
  get_target_property(sources ${target} SOURCES)
  list(FILTER sources INCLUDE REGEX "_test\\.cc$")
  list(SORT sources)
  imbrex_without_kernels(sources)
  imbrex_unite_as(${target} tests ${sources})
endfunction()

# imbrex_optimise_little(source...): of the calling folder; what takes long to compile and hardly any time when it runs, such
# as what reads a command line.
function(imbrex_optimise_little)
  set_source_files_properties(${ARGN} PROPERTIES COMPILE_OPTIONS "$<$<CONFIG:Release,RelWithDebInfo>:-O1>")
endfunction()
