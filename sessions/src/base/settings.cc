#include "base/settings.h"

#include <unistd.h>

#include <cerrno>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <initializer_list>

namespace imbrex::sessions {

namespace {

struct named_mode {
  const char* name;
  unsigned bits;
};
constexpr named_mode mode_names[] = {{"time", mode_time},   {"count", mode_count},
                                     {"kinds", mode_kinds}, {"inject", mode_inject},
                                     {"elide", mode_elide}, {"elide-verify", mode_elide | mode_verify},
                                     {"stage", mode_stage}};

constexpr const char* variables[] = {"IMBREX_SESSIONS_OUTPUT", "IMBREX_SESSIONS_TABLE", "IMBREX_SESSIONS_DELAY_NS",
                                     "IMBREX_SESSIONS_PATTERN", "IMBREX_SESSIONS_CHUNK_BYTES"};

void write_line(const char* format, va_list arguments) {
  char line[1024];
  int length = std::snprintf(line, sizeof line, "imbrex sessions: ");
  length += std::vsnprintf(line + length, sizeof line - static_cast<std::size_t>(length) - 1, format, arguments);
  length = length > static_cast<int>(sizeof line) - 2 ? static_cast<int>(sizeof line) - 2 : length;
  line[length++] = '\n';
  const ssize_t written = ::write(STDERR_FILENO, line, static_cast<std::size_t>(length));
  static_cast<void>(written);
}

unsigned mode_of(const char* name, std::size_t length) {
  for (const named_mode& known : mode_names) {
    if (std::strlen(known.name) == length && std::memcmp(known.name, name, length) == 0) return known.bits;
  }
  complain(
      "unknown mode %.*s in IMBREX_SESSIONS is ignored; use time, count, kinds, inject, elide, elide-verify, stage",
      static_cast<int>(length), name);
  return 0;
}

unsigned parse_modes(const char* text) {
  unsigned modes = 0;
  while (text != nullptr && *text != '\0') {
    const std::size_t length = std::strcspn(text, ",");
    modes |= length == 0 ? 0 : mode_of(text, length);
    text += length + (text[length] == ',' ? 1 : 0);
  }
  return modes;
}

/// A whole number of at least `least`; complains and leaves `value` otherwise. True when it was set.
bool parse_number(const char* variable, long least, long& value) {
  const char* text = std::getenv(variable);
  if (text == nullptr) return false;
  char* end = nullptr;
  errno = 0;
  const long number = std::strtol(text, &end, 10);
  if (end == text || *end != '\0' || errno != 0 || number < least) {
    complain("%s=%s is ignored: give a whole number of at least %ld", variable, text, least);
    return false;
  }
  value = number;
  return true;
}

void complain_of_unknown_variables() {
  constexpr const char* prefix = "IMBREX_SESSIONS_";
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    if (std::strncmp(*entry, prefix, std::strlen(prefix)) != 0) continue;
    const std::size_t length = std::strcspn(*entry, "=");
    bool known = false;
    for (const char* variable : variables) {
      known = known || (std::strlen(variable) == length && std::strncmp(*entry, variable, length) == 0);
    }
    if (!known) {
      complain(
          "unknown variable %.*s is ignored; there are IMBREX_SESSIONS_OUTPUT, _TABLE, _DELAY_NS, _PATTERN and "
          "_CHUNK_BYTES",
          static_cast<int>(length), *entry);
    }
  }
}

settings read_settings() {
  settings s;
  complain_of_unknown_variables();
  s.modes = parse_modes(std::getenv("IMBREX_SESSIONS"));
  s.output = std::getenv("IMBREX_SESSIONS_OUTPUT");
  if (const char* table = std::getenv("IMBREX_SESSIONS_TABLE")) s.table = table;
  s.has_delay = parse_number("IMBREX_SESSIONS_DELAY_NS", 0, s.delay_ns);
  long chunk = 0;
  if (parse_number("IMBREX_SESSIONS_CHUNK_BYTES", 4096, chunk)) s.chunk_bytes = static_cast<std::size_t>(chunk);
  if (const char* pattern = std::getenv("IMBREX_SESSIONS_PATTERN")) {
    if (!parse_pattern(pattern, s.pattern)) {
      complain("IMBREX_SESSIONS_PATTERN=%s is ignored; use %s", pattern, valid_patterns);
    }
  }
  return s;
}

}  // namespace

const settings& current_settings() {
  static const settings read = read_settings();
  return read;
}

void describe_modes(unsigned modes, char* text, std::size_t size) {
  std::snprintf(text, size, "%s", modes == 0 ? "idle" : "");
  for (const named_mode& known : mode_names) {
    const bool by_verify = known.bits == mode_elide && (modes & mode_verify) != 0;
    if ((modes & known.bits) != known.bits || by_verify) continue;
    const std::size_t used = std::strlen(text);
    std::snprintf(text + used, size - used, "%s%s", used == 0 ? "" : ",", known.name);
  }
}

int rank_by_environment() {
  for (const char* variable : {"OMPI_COMM_WORLD_RANK", "PMI_RANK", "PMIX_RANK", "SLURM_PROCID"}) {
    if (const char* rank = std::getenv(variable)) return std::atoi(rank);
  }
  return 0;
}

void complain_of_what_is_lost() {
  const settings& s = current_settings();
  if (rank_by_environment() != 0) return;
  if (s.output != nullptr && s.modes == 0) {
    complain("IMBREX_SESSIONS_OUTPUT=%s has no effect: IMBREX_SESSIONS names no mode; set it to count, for example",
             s.output);
  }
  const bool times_alone = (s.modes & mode_time) != 0 && (s.modes & mode_count) == 0;
  if (s.output == nullptr && (times_alone || (s.modes & mode_kinds) != 0)) {
    complain("what the mode %s measures is in the JSON report alone, and is lost: set IMBREX_SESSIONS_OUTPUT to a file",
             (s.modes & mode_kinds) != 0 ? "kinds" : "time");
  }
}

void complain(const char* format, ...) {
  va_list arguments;
  va_start(arguments, format);
  write_line(format, arguments);
  va_end(arguments);
}

void give_up(const char* format, ...) {
  va_list arguments;
  va_start(arguments, format);
  write_line(format, arguments);
  va_end(arguments);
  std::abort();
}

}  // namespace imbrex::sessions
