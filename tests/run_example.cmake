# cmake -DPROGRAM=... -DEXPECTED=examples/expected/NN_name.txt -P run_example.cmake
# Runs the program with the arguments in NN_name.args, if there is such a file, and compares its standard output.
set(arguments "")
string(REGEX REPLACE "\\.txt$" ".args" arguments_file "${EXPECTED}")
if(EXISTS "${arguments_file}")
  file(READ "${arguments_file}" arguments)
  string(STRIP "${arguments}" arguments)
  separate_arguments(arguments UNIX_COMMAND "${arguments}")
endif()
if(NOT EXISTS "${EXPECTED}")
  message(FATAL_ERROR "${EXPECTED} is missing: write there what ${PROGRAM} is expected to print")
endif()

execute_process(COMMAND "${PROGRAM}" ${arguments}
  OUTPUT_VARIABLE printed ERROR_VARIABLE complaints RESULT_VARIABLE status)
file(READ "${EXPECTED}" expected)
if(NOT status STREQUAL "0")
  message(FATAL_ERROR "${PROGRAM} ${arguments} ended with ${status}\n${complaints}${printed}")
endif()
if(NOT printed STREQUAL expected)
  message(FATAL_ERROR "unexpected output\n--- expected\n${expected}--- printed\n${printed}--- errors\n${complaints}")
endif()
