#pragma once

#include <memory>

#include "imbrex/device/stream.h"

namespace imbrex_test {

/// Stops a stream at a function that has not run: it runs when this PE looks at the stream again, however fast the
/// device is. `take_time` enqueues some work; more of it is asked for where the device had finished too soon, and the
/// function ran at once.
template <class F>
void hold(imbrex::stream& s, F take_time) {
  const auto ran = std::make_shared<bool>(true);
  for (int times = 1; *ran; times *= 2) {
    for (int i = 0; i < times; ++i) take_time();
    *ran = false;
    s.call("hold", [ran] { *ran = true; });
  }
}

}  // namespace imbrex_test
