# cmake -DEMBED=... -DCHECKER=clang -DDIALECT=... -DCASE=a_template|a_size|a_reference -DFOLDER=... -P embed_only_cpu.cmake
# Embeds a kernel file with a line that only a C++ compiler takes, the third; the error must name it. Without the line it
# is embedded.
set(a_template "template <class T> T twice(T x) { return x + x; }")
set(a_size "IX_KERNEL(count, (size_t n, IX_GLOBAL double* x)) { IX_ITEMS_BELOW(1) { x[0] = n; } }")
set(a_reference "IX_FUNCTION void add(double& to, double x) { to += x; }")
set(right "IX_KERNEL(scale, (int n, IX_GLOBAL double* x)) {
  IX_DYNAMIC_SHARED(double, rows);
  IX_PRIVATE(double, sums[4]);
  IX_ITEMS_BELOW(n) { IX_MY(sums)[1] = x[IX_GLOBAL_ID(0)]; rows[IX_LOCAL_ID(0)] = IX_MY(sums)[1]; }
}")

function(embed text)
  set(file "${FOLDER}/${CASE}.hk")
  file(WRITE "${file}" "${text}")
  execute_process(COMMAND "${CMAKE_COMMAND}" "-DFILE=${file}" -DSHOWN=${CASE}.hk "-DOUTPUT=${file}.cc" -DON_CUDA=0
    "-DOPENCL_CHECKER=${CHECKER}" "-DDIALECT=${DIALECT}" -P "${EMBED}"
    RESULT_VARIABLE status OUTPUT_VARIABLE said ERROR_VARIABLE said)
  set(status "${status}" PARENT_SCOPE)
  set(said "${said}" PARENT_SCOPE)
endfunction()

embed("// A kernel.\n\n${right}\n")
if(NOT status EQUAL 0)
  message(FATAL_ERROR "a right kernel was refused:\n${said}")
endif()
embed("// A kernel.\n\n${${CASE}}\n${right}\n")
if(status EQUAL 0)
  message(FATAL_ERROR "${CASE} was taken")
endif()
if(NOT said MATCHES "${CASE}\\.hk:3:")
  message(FATAL_ERROR "the error does not name line 3:\n${said}")
endif()
