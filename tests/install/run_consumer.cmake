# Builds the project CONSUMER by COMPILER against the imbrex in PREFIX, in the folder PLACE, and runs it. Its device is
# built by LIBRARY_COMPILER, as the devices of imbrex are: what one compiler's code passes, the other's code takes.
include("${CMAKE_CURRENT_LIST_DIR}/step.cmake")
if(NOT COMPILER)
  message("SKIPPED: there is no second compiler here: of g++ >= 12 and clang >= 16 only one was found")
  return()
endif()
file(REMOVE_RECURSE "${PLACE}")

# build(name compiler definitions...): configures and builds a folder of the consumer.
function(build folder name compiler)
  step("${CMAKE_COMMAND}" -S "${folder}" -B "${PLACE}/${name}" -G "${GENERATOR}" "-DCMAKE_CXX_COMPILER=${compiler}"
    "-DCMAKE_BUILD_TYPE=${BUILD_TYPE}" "-DCMAKE_PREFIX_PATH=${PREFIX}" ${ARGN})
  step("${CMAKE_COMMAND}" --build "${PLACE}/${name}" --config "${BUILD_TYPE}")
endfunction()

build("${CONSUMER}/checked_device" device "${LIBRARY_COMPILER}")
build("${CONSUMER}" build "${COMPILER}" "-DCHECKED_DEVICE=${PLACE}/device/libchecked_device.a")
step("${PLACE}/build/consumer" --imbrex-pes=1)
if(NOT output MATCHES "consumer ok")
  message(FATAL_ERROR "the consumer printed '${output}', not 'consumer ok'")
endif()
foreach(arguments IN ITEMS "--imbrex-pes=2" "--imbrex-ranks=3;--imbrex-pes=1")
  step("${PLACE}/build/field_writer" ${arguments})
  if(NOT output MATCHES "field writer ok")
    message(FATAL_ERROR "with ${arguments} the writer of fields printed '${output}', not 'field writer ok'")
  endif()
endforeach()
foreach(arguments IN ITEMS "--imbrex-pes=2" "--imbrex-ranks=2;--imbrex-pes=1" "--imbrex-device=auto;--imbrex-pes=1")
  step("${PLACE}/build/library_user" ${arguments})
  if(NOT output MATCHES "library user ok")
    message(FATAL_ERROR "with ${arguments} the user of a library printed '${output}', not 'library user ok'")
  endif()
endforeach()
