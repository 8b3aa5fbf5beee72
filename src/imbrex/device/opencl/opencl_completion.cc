#include "imbrex/device/opencl/opencl_completion.h"

#include "imbrex/device/opencl/opencl_stream.h"

namespace imbrex {

void opencl_completion::busy(opencl_stream& s) {
  if (s.is_busy) return;
  s.is_busy = true;
  busy_.push_back(&s);
  ++pe_.operations;
}

void opencl_completion::detach(opencl_stream& s) noexcept {
  if (!s.is_busy) return;
  s.is_busy = false;
  std::erase(busy_, &s);
  --pe_.operations;
}

void opencl_completion::poll() {
  for (std::size_t i = 0; i < busy_.size();) {
    opencl_stream& s = *busy_[i];
    if (s.advance()) {
      s.is_busy = false;
      busy_[i] = busy_.back();
      busy_.pop_back();
      --pe_.operations;
    } else {
      ++i;
    }
  }
}

void opencl_completion::ensure_noticed() {
  for (opencl_stream* s : busy_) s->flush();
}

bool opencl_completion::drain(std::int64_t) noexcept {
  for (opencl_stream* s : busy_) s->finish();
  return true;
}

}  // namespace imbrex
