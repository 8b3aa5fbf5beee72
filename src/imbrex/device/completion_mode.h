#pragma once

#include <cstdint>

namespace imbrex {

/// How a PE notices that operations of a GPU's stream have finished (Choi et al. 2020, III-B).
enum class completion_mode {
  flag,      ///< a number in pinned memory, written in stream order; one load tells what has finished
  event,     ///< pooled events; the oldest one of each stream is asked
  callback,  ///< a host function in the stream posts to the PE
  sync,      ///< the PE blocks in the driver until the stream is empty
};

/// As options and reports name it.
constexpr const char* to_string(completion_mode m) {
  switch (m) {
    case completion_mode::flag: return "flag";
    case completion_mode::event: return "event";
    case completion_mode::callback: return "callback";
    case completion_mode::sync: return "sync";
  }
  return "?";
}

}  // namespace imbrex
