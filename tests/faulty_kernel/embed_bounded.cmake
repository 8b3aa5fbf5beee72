# cmake -DEMBED=... -DDIALECT=... -DFOLDER=... -P embed_bounded.cmake
# What a region asks about each item becomes, for the CPU, the bound of its loop, where that is the same; nothing else
# does.
file(WRITE "${FOLDER}/bounded.hk" "
IX_KERNEL(scale, (int n, IX_GLOBAL double* x, double f)) {
  IX_ITEMS {
    int i = IX_GLOBAL_ID(0);
    if (i < n) x[i] *= f;
  }
}
IX_KERNEL(both, (int last, IX_GLOBAL double* x, IX_GLOBAL double* y)) {
  IX_ITEMS { const int at = IX_GLOBAL_ID(0); if (at < last) { x[at] = 1; y[at] = 2; } }
}
IX_KERNEL(other, (int n, int j, IX_GLOBAL double* x)) {
  IX_ITEMS { int i = IX_GLOBAL_ID(0); if (j < n) x[i] = 1; }
}
IX_KERNEL(more, (int n, IX_GLOBAL double* x)) {
  IX_ITEMS { int i = IX_GLOBAL_ID(0); if (i < n) x[i] = 1; x[i + n] = 2; }
}
")
execute_process(COMMAND "${CMAKE_COMMAND}" "-DFILE=${FOLDER}/bounded.hk" -DSHOWN=bounded.hk
  "-DOUTPUT=${FOLDER}/bounded.cc" -DON_CUDA=0 "-DDIALECT=${DIALECT}" -P "${EMBED}"
  RESULT_VARIABLE status OUTPUT_VARIABLE said ERROR_VARIABLE said)
if(NOT status EQUAL 0)
  message(FATAL_ERROR "${said}")
endif()
file(READ "${FOLDER}/bounded.cc" made)
string(FIND "${made}" "#define IX_CPU_KERNEL IX_CPU_DEFINED" at)
string(SUBSTRING "${made}" ${at} -1 made)
foreach(expected IN ITEMS
    "IX_ITEMS_BELOW\\(n\\) {[ \n]*int i = IX_GLOBAL_ID\\(0\\);[ \n]*if \\(1\\) x\\[i\\] \\*= f;"
    "IX_ITEMS_BELOW\\(last\\) { const int at = IX_GLOBAL_ID\\(0\\); if \\(1\\) { x\\[at\\] = 1; y\\[at\\] = 2; } }"
    "IX_ITEMS { int i = IX_GLOBAL_ID\\(0\\); if \\(j < n\\) x\\[i\\] = 1; }"
    "IX_ITEMS { int i = IX_GLOBAL_ID\\(0\\); if \\(i < n\\) x\\[i\\] = 1; x\\[i \\+ n\\] = 2; }")
  if(NOT made MATCHES "${expected}")
    message(FATAL_ERROR "not found: ${expected}\nin\n${made}")
  endif()
endforeach()
