#pragma once

#include "imbrex/trace/trace.h"

namespace imbrex {

/// A slice of a track, from here to the end of the block; null: nothing is recorded. `name` has static lifetime. For
/// the track's thread.
class trace_slice {
 public:
  trace_slice(trace_track* track, const char* name, trace_category category) : track_(track) {
    if (track_ != nullptr) [[unlikely]]
      track_->begin(name, category);
  }
  ~trace_slice() {
    if (track_ != nullptr) [[unlikely]]
      track_->end();
  }
  trace_slice(const trace_slice&) = delete;
  trace_slice& operator=(const trace_slice&) = delete;

 private:
  trace_track* const track_;
};

}  // namespace imbrex
