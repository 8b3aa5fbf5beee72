#include "imbrex/pe/reply.h"

#include <typeinfo>

#include "imbrex/base/error.h"
#include "imbrex/pe/exception_types.h"

namespace imbrex {

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
