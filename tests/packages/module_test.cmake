# The module file that was installed in PREFIX, loaded by TOOL (lmod or environment_modules): the tool and pkg-config find
# this imbrex, and no more once it is unloaded.
include("${CMAKE_CURRENT_LIST_DIR}/../install/step.cmake")
if(COMMAND_FILE MATCHES "NOTFOUND|^$")
  message("SKIPPED: ${TOOL} is not here (apt install ${PACKAGE}; Lmod and Environment Modules exclude each other)")
  return()
endif()
file(GLOB modules "${PREFIX}/share/imbrex/modulefiles")
if(NOT modules)
  message(FATAL_ERROR "${PREFIX}/share/imbrex/modulefiles is not there")
endif()
file(WRITE "${PLACE}.sh" "set -eu
unset LOADEDMODULES _LMFILES_ PKG_CONFIG_PATH CMAKE_PREFIX_PATH
export MODULEPATH='${modules}' LMOD_CACHED_LOADS=no
module() { eval \"$('${COMMAND_FILE}' bash \"$@\")\"; }
set +u
module load imbrex
test \"$(command -v imbrex)\" = '${PREFIX}/bin/imbrex'
test \"$CMAKE_PREFIX_PATH\" = '${PREFIX}'
imbrex info >/dev/null
${PKG_CONFIG} --exact-version ${VERSION} imbrex
module unload imbrex
test -z \"\${PKG_CONFIG_PATH:-}\"
test \"$(command -v imbrex || true)\" != '${PREFIX}/bin/imbrex'
")
step(bash "${PLACE}.sh")
