#include "imbrex/pe/reply.h"

#include <typeinfo>

#include "imbrex/base/error.h"
#include "imbrex/pe/exception_types.h"
#include "imbrex/pe/scheduler.h"

namespace imbrex {

const wait_mobility reply_waiter::follows{[](const waiter&) { return true; },
                                          [](waiter& w, departure& d) {
                                            scheduler& pe = scheduler::current();
                                            const reply_to& r = static_cast<reply_waiter&>(w).address;
                                            if (r.pe == pe.id()) pe.replies.send_after(r, d.route());
                                          },
                                          [](waiter& w) {
                                            scheduler& pe = scheduler::current();
                                            auto& self = static_cast<reply_waiter&>(w);
                                            if (self.address.pe == pe.id()) pe.replies.came_back(self);
                                          }};

failure failure::of(std::exception_ptr e) {
  failure f;
  f.thrown = std::move(e);
  return f;
}

void failure::name_kind() {
  if (!thrown) return;
  const auto describe = [this](const char* k, const std::exception& e) {
    kind = k;
    what = e.what();
    if (const auto* const known = detail::exception_types::all().of(typeid(e)); known != nullptr) {
      if (known->write(e, whole)) type = known->name;
    }
  };
  try {
    std::rethrow_exception(thrown);
  } catch (const error& e) {
    describe(e.kind(), e);
  } catch (const std::exception& e) {
    describe("remote", e);
  } catch (...) {
    kind = "remote";
    what = "an exception that is no std::exception";
  }
}

void failure::raise() const {
  if (thrown) std::rethrow_exception(thrown);
  if (!type.empty()) {
    if (const auto* const known = detail::exception_types::all().named(type); known != nullptr) known->raise(whole);
  }
  throw_error(kind, what);
}

}  // namespace imbrex
