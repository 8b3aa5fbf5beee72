#include "base/declaration.h"

#include <cstdio>
#include <cstring>

namespace imbrex::sessions {

namespace {

struct named_pattern {
  const char* name;
  place sent, received;
};
constexpr named_pattern patterns[] = {{"MPI_CPU_TO_CPU", place::host, place::host},
                                      {"MPI_CPU_TO_GPU", place::host, place::device},
                                      {"MPI_GPU_TO_CPU", place::device, place::host},
                                      {"MPI_GPU_TO_GPU", place::device, place::device}};

/// unknown: a kind that does not say it, such as "cuda" or "cuda:managed".
struct named_kind {
  const char* name;
  place where;
};
constexpr named_kind kinds[] = {{"system", place::host},
                                {"mpi", place::host},
                                {"mpi:alloc_mem", place::host},
                                {"mpi:win_allocate", place::host},
                                {"mpi:win_allocate_shared", place::host},
                                {"cuda", place::unknown},
                                {"cuda:device", place::device},
                                {"cuda:host", place::host},
                                {"cuda:managed", place::unknown},
                                {"rocm", place::unknown},
                                {"rocm:device", place::device},
                                {"rocm:host", place::host},
                                {"rocm:managed", place::unknown},
                                {"ze", place::unknown},
                                {"ze:device", place::device},
                                {"ze:host", place::host},
                                {"ze:shared", place::unknown}};

const named_kind* find_kind(const char* text, std::size_t length) {
  for (const named_kind& kind : kinds) {
    if (std::strlen(kind.name) == length && std::memcmp(kind.name, text, length) == 0) return &kind;
  }
  return nullptr;
}

}  // namespace

const char* name_of(place where) {
  constexpr const char* names[] = {"unknown", "host", "device"};
  return names[static_cast<int>(where)];
}

bool parse_pattern(const char* text, declaration& said) {
  for (const named_pattern& pattern : patterns) {
    if (std::strcmp(pattern.name, text) != 0) continue;
    said.sent = pattern.sent;
    said.received = pattern.received;
    return true;
  }
  return false;
}

bool parse_kinds(const char* text, declaration& said, char* unknown, unsigned long unknown_size) {
  place all = place::unknown;
  bool first = true;
  bool mixed = false;
  while (true) {
    text += std::strspn(text, " ");
    std::size_t length = std::strcspn(text, ",");
    const char* next = text + length;
    while (length > 0 && text[length - 1] == ' ') --length;
    const named_kind* kind = find_kind(text, length);
    if (kind == nullptr) {
      std::snprintf(unknown, unknown_size, "%.*s", static_cast<int>(length), text);
      return false;
    }
    mixed = mixed || kind->where == place::unknown || (!first && kind->where != all);
    all = kind->where;
    first = false;
    if (*next == '\0') break;
    text = next + 1;
  }
  said.sent = said.received = mixed ? place::unknown : all;
  said.is_mixture = mixed;
  return true;
}

const char* name_of(const declaration& said) {
  for (const named_pattern& pattern : patterns) {
    if (pattern.sent == said.sent && pattern.received == said.received) return pattern.name;
  }
  return said.empty() ? "no pattern" : "a mixture";
}

}  // namespace imbrex::sessions
