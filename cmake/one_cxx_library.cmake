# A shared libimbrex that has the C++ library inside has one of its own beside the program's: what a coroutine of the program
# throws is nowhere to be found there, and a job ends with any exit code and no word. So LIBRARY is looked at once it is linked.
execute_process(COMMAND "${READELF}" -d "${LIBRARY}" OUTPUT_VARIABLE needed RESULT_VARIABLE status)
if(status EQUAL 0 AND NOT needed MATCHES "NEEDED[^\n]*lib(std)?c\\+\\+")
  file(REMOVE "${LIBRARY}")
  message(FATAL_ERROR "${LIBRARY} was linked with a static C++ library (-static-libstdc++, or a libstdc++.a where the linker "
    "finds no libstdc++.so first), and exceptions do not get from programs into it: link libstdc++.so, or configure with "
    "-DBUILD_SHARED_LIBS=OFF")
endif()
