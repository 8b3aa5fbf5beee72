#include "python_chare.h"

#include <string_view>

namespace imbrex_python {

void combine_in_python::operator()(contribution& into, contribution&& from) const {
  const with_python here;
  try {
    into.what =
        value(nb::module_::import_("imbrex._chare").attr("combine")(into.op.get(), into.what.get(), from.what.get()));
  } catch (nb::python_error& e) {
    throw python_failure::of(e, "what a reduction combines with");
  }
}

namespace {
nb::object helper(const char* name) { return nb::module_::import_("imbrex._chare").attr(name); }
}  // namespace

held_object::~held_object() {
  if (!object_ || !Py_IsInitialized()) return;
  const with_python here;
  if (PyObject_SetAttrString(object_.get(), "_chare", Py_None) != 0) PyErr_Clear();
}

void held_object::hold(const char* by, const value& from, chare_interface* of, const char* where) {
  const with_python here;
  try {
    const nb::object object = helper(by)(from.get(), nb::cast(of, nb::rv_policy::reference));
    object_ = owned(nb::object(object).release().ptr());
  } catch (nb::python_error& e) {
    throw python_failure::of(e, where);
  }
}

void held_object::make(const value& made, chare_interface* of) { hold("make", made, of, "the constructor of a chare"); }

void held_object::read(const value& state, chare_interface* of) { hold("read", state, of, "__setstate__ of a chare"); }

value held_object::state() const {
  const with_python here;
  try {
    return value::pickled(helper("state")(nb::handle(object_.get())));
  } catch (nb::python_error& e) {
    throw python_failure::of(e, "a chare that moves, or goes into a checkpoint, has to be pickled");
  }
}

held_object::begun held_object::begin(const std::string& method, const value& arguments) const {
  const with_python here;
  const nb::handle object(object_.get());
  begun b;
  b.where = nb::cast<std::string>(object.type().attr("__qualname__")) + "." + method;
  const ix::trace_range shown(b.where);
  try {
    const nb::tuple given = nb::cast<nb::tuple>(arguments.get());
    const nb::object result = helper("invoke")(object, method, given[0], given[1]);
    if (PyCoro_CheckExact(result.ptr())) {
      b.coroutine = owned(nb::object(result).release().ptr());
    } else {
      b.result = value(result);
    }
  } catch (nb::python_error& e) {
    throw python_failure::of(e, b.where);
  }
  return b;
}

}  // namespace imbrex_python
