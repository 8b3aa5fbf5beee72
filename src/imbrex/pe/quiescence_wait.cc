#include "imbrex/pe/quiescence_wait.h"

#include <string>

#include "imbrex/pe/quiescence.h"
#include "imbrex/pe/scheduler.h"

namespace imbrex {

namespace {

/// The wish to know of quiescence, at PE 0.
struct quiescence_request {
  static constexpr bool counted = false;
  reply_to who;
  bool before_others = false;
  void operator()(scheduler& pe) { pe.quiescence().ask(who, before_others); }
  template <class Archive>
  void serialize(Archive& ar) {
    ar & who & before_others;
  }
};

}  // namespace

void quiescence_wait::awaiter::await_suspend(std::coroutine_handle<> h) {
  const reply_to r = expect_anywhere(h, [](const waiter*) { return std::string("quiescence"); });
  scheduler::current().send(0, quiescence_request{r, before_others}, priorities::communication);
}

}  // namespace imbrex
