# cmake -DEMBED=... -DDIALECT=... -DFOLDER=... -P embed_regions.cmake
# What leaves a region, and a region in a region, is refused when a file is embedded; what looks like it is taken.
function(embed body result)
  file(WRITE "${FOLDER}/regions.hk" "IX_KERNEL(walk, (int n, IX_GLOBAL int* x)) { ${body} }\n")
  execute_process(COMMAND "${CMAKE_COMMAND}" "-DFILE=${FOLDER}/regions.hk" -DSHOWN=kernels/regions.hk
    "-DOUTPUT=${FOLDER}/regions.cc" -DON_CUDA=0 "-DDIALECT=${DIALECT}" -P "${EMBED}"
    RESULT_VARIABLE status OUTPUT_VARIABLE said ERROR_VARIABLE said)
  string(REGEX REPLACE "[ \n]+" " " said "${said}")
  if(status EQUAL 0)
    set(said "")
  endif()
  set(${result} "${said}" PARENT_SCOPE)
endfunction()

function(expect_refused why body)
  embed("${body}" said)
  if(NOT said MATCHES "kernels/regions.hk: kernel walk: ${why}")
    message(FATAL_ERROR "'${body}': expected '${why}', said '${said}'")
  endif()
endfunction()
expect_refused("return leaves a region" "IX_ITEMS { if (IX_GLOBAL_ID(0) >= n) return; x[0] = 1; }")
expect_refused("return leaves a region" "IX_ITEMS_BELOW(n) if (x[0]) return;")
expect_refused("break leaves a region" "for (int t = 0; t < n; ++t) { IX_ITEMS { if (x[t]) break; } }")
expect_refused("break leaves a region" "IX_ITEMS { for (int i = 0; i < n; ++i) { x[i] = 1; } if (x[0]) break; }")
expect_refused("a region stands in a region" "IX_ITEMS { IX_ITEMS_BELOW(3) { x[1] = 1; } }")
expect_refused("a region stands in a region" "IX_ITEMS { if (n) IX_STREAM_BELOW(n, x[0], n); }")

foreach(body IN ITEMS
    "if (n == 0) return; for (int k = 0; k < 3; ++k) { IX_ITEMS if (n) x[k] = 1; if (k == n) break; }"
    "IX_ITEMS { for (int i = 0; i < n; ++i) if (x[i]) break; else x[i] = 2; while (1) break; }"
    "IX_ITEMS { do { if (x[0]) break; } while (x[0]); switch (n) { case 1: break; default: x[1] = 2; } }"
    "IX_ITEMS { int returned = 0; /* return; */ x[0] = returned; // break;\n }"
    "IX_ITEMS { for (int i = 0; i < n; ++i) for (int j = 0; j < n; ++j) { if (x[j]) break; } continue; }")
  embed("${body}" said)
  if(said)
    message(FATAL_ERROR "'${body}' was refused: ${said}")
  endif()
endforeach()
