# `imbrex new`: what it writes is built against the imbrex in PREFIX, in the folder PLACE, and passes its own tests.
include("${CMAKE_CURRENT_LIST_DIR}/step.cmake")
file(REMOVE_RECURSE "${PLACE}")
step("${PREFIX}/bin/imbrex" new my-ring --folder "${PLACE}/made")
step("${CMAKE_COMMAND}" -S "${PLACE}/made" -B "${PLACE}/build" -G "${GENERATOR}" "-DCMAKE_CXX_COMPILER=${COMPILER}"
  "-DCMAKE_BUILD_TYPE=${BUILD_TYPE}" "-DCMAKE_PREFIX_PATH=${PREFIX}" -DCMAKE_CXX_FLAGS=-Werror)
step("${CMAKE_COMMAND}" --build "${PLACE}/build" --config "${BUILD_TYPE}")
step("${CMAKE_CTEST_COMMAND}" --test-dir "${PLACE}/build" --output-on-failure --no-tests=error -C "${BUILD_TYPE}")
step("${PLACE}/build/my-ring" --imbrex-ranks=2 --imbrex-pes=1)
if(NOT output MATCHES "8 workers on 2 PEs of 2 ranks: sum 28")
  message(FATAL_ERROR "the program printed '${output}'")
endif()
