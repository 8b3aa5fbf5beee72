# Installs imbrex from the build folder BUILT into a fresh prefix, builds the project CONSUMER against it, runs it.
set(place "${BUILT}/consumer")
set(prefix "${place}/prefix")
file(REMOVE_RECURSE "${place}")

function(step)
  execute_process(COMMAND ${ARGN} RESULT_VARIABLE status OUTPUT_VARIABLE output ERROR_VARIABLE output)
  if(NOT status STREQUAL "0")
    list(JOIN ARGN " " command)
    message(FATAL_ERROR "${command}\nended with ${status}\n${output}")
  endif()
  set(output "${output}" PARENT_SCOPE)
endfunction()

step("${CMAKE_COMMAND}" --install "${BUILT}" --prefix "${prefix}" --config "${BUILD_TYPE}")
step("${CMAKE_COMMAND}" -S "${CONSUMER}" -B "${place}/build" -G "${GENERATOR}"
  "-DCMAKE_CXX_COMPILER=${COMPILER}" "-DCMAKE_BUILD_TYPE=${BUILD_TYPE}" "-DCMAKE_PREFIX_PATH=${prefix}")
step("${CMAKE_COMMAND}" --build "${place}/build" --config "${BUILD_TYPE}")
step("${place}/build/consumer")
if(NOT output MATCHES "consumer ok")
  message(FATAL_ERROR "the consumer printed '${output}', not 'consumer ok'")
endif()
