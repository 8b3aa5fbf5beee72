#pragma once

/// \def IMBREX_THREAD_LOCAL
/// Of a variable that each thread has and hot paths read. In a program that libimbrex is linked into it is found in one
/// instruction anyway; libimbrex.so finds it as fast only if it is loaded with the program, as libraries that programs
/// name are. A module that a running program loads, such as Python's, has libimbrex linked into it.
#if defined(IMBREX_SHARED_LIBRARY)
#define IMBREX_THREAD_LOCAL static thread_local constinit __attribute__((tls_model("initial-exec")))
#else
#define IMBREX_THREAD_LOCAL static thread_local constinit
#endif
