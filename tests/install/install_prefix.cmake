# Installs imbrex, without its applications, from the build folder BUILT into the fresh folder PREFIX.
include("${CMAKE_CURRENT_LIST_DIR}/step.cmake")
file(REMOVE_RECURSE "${PREFIX}")
step("${CMAKE_COMMAND}" --install "${BUILT}" --prefix "${PREFIX}" --config "${BUILD_TYPE}"
  --component imbrex)
