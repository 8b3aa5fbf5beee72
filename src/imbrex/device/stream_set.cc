#include "imbrex/device/stream_set.h"

#include <utility>

namespace imbrex {

stream_set::stream_set(device& d, const std::string& owner)
    : compute_(d.make_stream(stream_priority::low, "the compute stream of " + owner)),
      pack_(d.make_stream(stream_priority::high, "the pack stream of " + owner)),
      unpack_(d.make_stream(stream_priority::high, "the unpack stream of " + owner)),
      to_host_(d.make_stream(stream_priority::high, "the to_host stream of " + owner)),
      to_device_(d.make_stream(stream_priority::high, "the to_device stream of " + owner)),
      each_{compute_.get(), pack_.get(), unpack_.get(), to_host_.get(), to_device_.get()} {}

void stream_set::when_idle(std::function<void()> f) {
  waiting_.push_back(std::move(f));
  start();
}

void stream_set::let_go() {
  --held_;
  start();
}

void stream_set::leave() {
  for (stream* s : each_) s->leave();
}

void stream_set::arrive(device& here) {
  for (stream* s : each_) s->arrive(here);
}

void stream_set::start() {
  if (held_ > 0 || waiting_.empty() || drain_.pending()) return;
  drain_ = stream_drain({each_.begin(), each_.end()}, [this] { drained(); });
}

void stream_set::drained() {
  if (held_ > 0) return;  // `let_go` starts again
  const std::vector<std::function<void()>> all = std::exchange(waiting_, {});
  for (const std::function<void()>& f : all) f();  // any of which may destroy this
}

}  // namespace imbrex
