#pragma once

#include <string>
#include <string_view>

#include "imbrex/base/ids.h"

/// One-line messages to stderr, `imbrex [rank 3] warning: text`. Any thread. Nothing here throws.
namespace imbrex {

/// How grave a message is; as a level of `set_log_level`, the least that is printed. `off` prints nothing.
enum class log_level { trace, debug, info, warning, error, off };

/// "trace", "debug", "info", "warning", "error" or "off"; anything else is a `config_error`.
log_level parse_log_level(std::string_view name);
const char* to_string(log_level level);

/// What is less severe than `level` is not shown. At first: `warning`.
void set_log_level(log_level level);
bool log_enabled(log_level level);

/// Messages name this rank from now on (a negative one: none). For all threads of the process ...
void set_log_rank(rank_id rank);
/// ... or for the calling thread only, where one process holds several ranks.
void set_thread_log_rank(rank_id rank);

/// Line breaks inside a message become "; ".
void log_message(log_level level, std::string_view text);

/// `log_message` of this level.
inline void log_debug(std::string_view text) { log_message(log_level::debug, text); }
inline void log_info(std::string_view text) { log_message(log_level::info, text); }
inline void log_warning(std::string_view text) { log_message(log_level::warning, text); }
inline void log_error(std::string_view text) { log_message(log_level::error, text); }

}  // namespace imbrex
