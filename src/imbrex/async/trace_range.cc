#include "imbrex/async/trace_range.h"

namespace imbrex {

const char* detail::kept_name(std::string_view name) {
  trace_recorder* const recorder = executor::current()->recorder;
  return recorder == nullptr ? "?" : recorder->intern(std::string(name));
}

void trace_range::begin(std::string_view name) { range_ = track_->range_begin(detail::kept_name(name)); }

}  // namespace imbrex
