#include "imbrex/object/reply.h"

#include "imbrex/base/error.h"

namespace imbrex {

failure failure::of(std::exception_ptr e) {
  failure f;
  f.thrown = std::move(e);
  return f;
}

void failure::name_kind() {
  if (!thrown) return;
  try {
    std::rethrow_exception(thrown);
  } catch (const error& e) {
    kind = e.kind();
    what = e.what();
  } catch (const std::exception& e) {
    kind = "remote";
    what = e.what();
  } catch (...) {
    kind = "remote";
    what = "an exception that is no std::exception";
  }
}

void failure::raise() const {
  if (thrown) std::rethrow_exception(thrown);
  throw_error(kind, what);
}

}  // namespace imbrex
