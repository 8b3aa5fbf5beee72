# The program and the commands of README for building by hand, from an imbrex that was moved after it was installed:
# pkg-config names all that has to be linked.
include("${CMAKE_CURRENT_LIST_DIR}/step.cmake")
find_program(pkg_config pkg-config)
find_program(gxx g++)
if(NOT pkg_config OR NOT gxx)
  message("SKIPPED: pkg-config and g++ are needed, and not both are here")
  return()
endif()
file(REMOVE_RECURSE "${PLACE}")
file(MAKE_DIRECTORY "${PLACE}")
file(COPY "${PREFIX}/" DESTINATION "${PLACE}/imbrex")

# readme_block(variable heading language): the first block in this language behind the heading.
file(READ "${README}" readme)
function(readme_block variable heading language)
  string(FIND "${readme}" "${heading}" at)
  if(at EQUAL -1)
    message(FATAL_ERROR "README.md does not say '${heading}' any more")
  endif()
  string(SUBSTRING "${readme}" ${at} -1 rest)
  string(FIND "${rest}" "```${language}\n" at)
  string(SUBSTRING "${rest}" ${at} -1 rest)
  string(REGEX REPLACE "^```[a-z]+\n" "" rest "${rest}")
  string(FIND "${rest}" "```" at)
  string(SUBSTRING "${rest}" 0 ${at} rest)
  set(${variable} "${rest}" PARENT_SCOPE)
endfunction()

readme_block(program "**Write** `integral.cc`" cpp)
readme_block(commands "or by hand" sh)
file(WRITE "${PLACE}/integral.cc" "${program}")
file(WRITE "${PLACE}/by_hand.sh" "set -e\ncd '${PLACE}'\n${commands}")
step("${CMAKE_COMMAND}" -E env "HOME=${PLACE}" sh "${PLACE}/by_hand.sh")

# integrates(program): where libimbrex is a shared library, it is found by the environment.
function(integrates program)
  step("${CMAKE_COMMAND}" -E env "LD_LIBRARY_PATH=${PLACE}/imbrex/lib:$ENV{LD_LIBRARY_PATH}" "${program}" --imbrex-pes=1)
  if(NOT output MATCHES "8 slices on 1 PEs of 1 ranks: pi = 3.1415926536")
    message(FATAL_ERROR "${program} printed '${output}'")
  endif()
endfunction()
integrates("${PLACE}/integral")

# The other compiler, and the next standard: with consumer and consumer_by_other_compiler each pair is tried.
foreach(build IN ITEMS "${gxx};c++23" "${CLANG};c++20")
  list(GET build 0 compiler)
  list(GET build 1 standard)
  if(compiler)
    file(WRITE "${PLACE}/by_hand.sh" "set -e\ncd '${PLACE}'\nexport PKG_CONFIG_PATH='${PLACE}/imbrex/lib/pkgconfig'\n"
      "'${compiler}' -std=${standard} -Wall -Wextra -Wpedantic -Werror integral.cc "
      "$(pkg-config --cflags --libs imbrex) -o integral_${standard}\n")
    step(sh "${PLACE}/by_hand.sh")
    integrates("${PLACE}/integral_${standard}")
  endif()
endforeach()
step("${CMAKE_COMMAND}" -E env "PKG_CONFIG_PATH=${PLACE}/imbrex/lib/pkgconfig" "${pkg_config}" --libs --static imbrex)
