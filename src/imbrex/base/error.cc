#include "imbrex/base/error.h"

namespace imbrex {

void throw_error(const std::string& kind, const std::string& what) {
  if (kind == "error") throw error(what);
  if (kind == "usage") throw usage_error(what);
  if (kind == "config") throw config_error(what);
  if (kind == "device") throw device_error(what);
  if (kind == "comm") throw comm_error(what);
  if (kind == "out_of_memory") throw out_of_memory(what);
  if (kind == "checkpoint") throw checkpoint_error(what);
  if (kind == "cancelled") throw cancelled_error(what);
  if (kind == "not_built") throw not_built(what);
  throw remote_error(what);
}

}  // namespace imbrex
