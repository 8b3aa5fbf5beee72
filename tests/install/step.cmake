# step(command...): runs it; when it fails, so does the test, with all that it printed. Sets output.
function(step)
  execute_process(COMMAND ${ARGN} RESULT_VARIABLE status OUTPUT_VARIABLE output ERROR_VARIABLE output)
  if(NOT status STREQUAL "0")
    list(JOIN ARGN " " command)
    message(FATAL_ERROR "${command}\nended with ${status}\n${output}")
  endif()
  set(output "${output}" PARENT_SCOPE)
endfunction()
