#pragma once

#include <string>

namespace imbrex {

/// Logs a warning unless this very text was one before, in this process. Any thread.
void log_warning_once(const std::string& text);

}  // namespace imbrex
