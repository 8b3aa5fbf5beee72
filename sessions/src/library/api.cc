// What imbrex/sessions.h asks of the library.
#include "base/handle_table.h"

extern "C" __attribute__((visibility("default"))) const char* imbrex_sessions_api_declared(std::uintptr_t handle) {
  const imbrex::sessions::declaration said = imbrex::sessions::declarations.find(handle);
  return said.empty() ? "" : imbrex::sessions::name_of(said);
}
