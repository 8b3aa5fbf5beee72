#include "value.h"

#include <string_view>

namespace imbrex_python {

namespace {

constexpr int protocol = 5;
const bool failures_travel = ix::register_exception<python_failure>("python");

std::string pickle(nb::handle o) {
  const nb::object bytes = nb::module_::import_("pickle").attr("dumps")(o, protocol);
  return {PyBytes_AS_STRING(bytes.ptr()), static_cast<std::size_t>(PyBytes_GET_SIZE(bytes.ptr()))};
}

}  // namespace

value::value(const nb::object& o) {
  if (o.is_none()) return;
  shared_ = std::make_shared<shared>();
  shared_->object = owned(nb::object(o).release().ptr());
}

value value::pickled(const nb::object& o) {
  value v;
  if (!o.is_none()) v.unpack(pickle(o));
  return v;
}

nb::object value::get() const {
  if (shared_ == nullptr) return nb::none();
  if (shared_->object) return nb::borrow(shared_->object.get());
  const nb::bytes bytes(shared_->bytes.data(), shared_->bytes.size());
  return nb::module_::import_("pickle").attr("loads")(bytes);
}

std::string& value::packed() {
  static std::string none;
  if (shared_ == nullptr) return none;
  const with_python here;
  if (shared_->bytes.empty()) {
    try {
      shared_->bytes = pickle(nb::handle(shared_->object.get()));
    } catch (nb::python_error& e) {
      throw ix::usage_error(std::string("what goes to another rank has to be pickled, but this cannot: ") + e.what());
    }
  }
  return shared_->bytes;
}

void value::unpack(std::string bytes) {
  shared_ = nullptr;
  if (bytes.empty()) return;
  shared_ = std::make_shared<shared>();
  shared_->bytes = std::move(bytes);
}

python_failure python_failure::of(nb::python_error& e, const std::string& where) {
  std::string text = where + ":\n";
  value v;
  try {
    const nb::object lines = nb::module_::import_("traceback").attr("format_exception")(e.type(), e.value(), e.traceback());
    text += nb::cast<std::string>(nb::str("").attr("join")(lines));
    v = value::pickled(nb::borrow(e.value()));
  } catch (nb::python_error&) {  // it cannot be pickled: its text goes
    if (text.size() == where.size() + 2) text += e.what();
  }
  while (!text.empty() && text.back() == '\n') text.pop_back();
  return {text, v};
}

nb::object as_python_exception(const std::exception_ptr& e) {
  const nb::object package = nb::module_::import_("imbrex");
  try {
    std::rethrow_exception(e);
  } catch (const python_failure& f) {
    try {
      nb::object exception = f.exception().get();
      if (!exception.is_none()) {
        exception.attr("__cause__") = package.attr("RemoteError")(f.what());
        return exception;
      }
    } catch (nb::python_error&) {  // of a class that is not there
    }
    return package.attr("RemoteError")(f.what());
  } catch (const ix::usage_error& f) {
    return package.attr("UsageError")(f.what());
  } catch (const ix::error& f) {
    return package.attr("Error")(f.what());
  } catch (const std::exception& f) {
    return package.attr("RemoteError")(f.what());
  }
}

}  // namespace imbrex_python
