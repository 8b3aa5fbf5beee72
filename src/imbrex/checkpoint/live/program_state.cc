#include "imbrex/checkpoint/live/program_state.h"

#include <exception>
#include <string_view>

#include <fmt/format.h>

#include "imbrex/base/error.h"
#include "imbrex/base/log.h"

namespace imbrex::detail {

namespace {

std::string text_of_caught() {
  try {
    throw;
  } catch (const std::exception& e) {
    return e.what();
  } catch (...) {
    return "something was thrown that is no std::exception";
  }
}

}  // namespace

void throw_unreadable(const std::string& what) {
  throw checkpoint_error(fmt::format(
      "{} cannot be read ({}): if serialize has changed since it was written, restart with the program that "
      "wrote it, or begin anew without --imbrex-restart",
      what, text_of_caught()));
}

void warn_of_program_of_other_types(std::string_view type) {
  log_warning(fmt::format(
      "the program ({}) in the checkpoint was written of other types than its serialize reads it as: as many bytes, "
      "but numbers of another kind. If a member's type has changed its values are wrong: restart with the program "
      "that wrote it",
      type));
}

}  // namespace imbrex::detail
