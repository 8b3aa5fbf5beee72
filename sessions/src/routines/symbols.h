// The dynamic linker's own look-ups, past this library's dlsym (driver_symbols.cc).
#pragma once

namespace imbrex::sessions {

/// dlsym(library, name) as glibc has it.
void* symbol_in(void* library, const char* name);

/// The next definition of `name` after this library's.
void* next_symbol(const char* name);

}  // namespace imbrex::sessions
