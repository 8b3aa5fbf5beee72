#include "python_chare.h"

#include <functional>
#include <string>
#include <unordered_map>
#include <utility>

namespace imbrex_python {

namespace {
nb::object helper(const char* name) { return nb::module_::import_("imbrex._chare").attr(name); }
}  // namespace

value own_of(const value& shared) {
  const with_python here;
  try {
    return value(helper("own")(shared.get()));
  } catch (nb::python_error& e) {
    throw python_failure::of(e, "the result of a reduction, of which each element gets its own");
  }
}

void combine_in_python::operator()(contribution& into, contribution&& from) const {
  const with_python here;
  try {
    into.what = value(helper("combine")(into.op.get(), into.what.get(), from.what.get(), from.op.get()));
  } catch (nb::python_error& e) {
    throw python_failure::of(e, "what a reduction combines with");
  }
}

held_object::~held_object() {
  if (!object_ || !Py_IsInitialized()) return;
  const with_python here;
  if (PyObject_SetAttrString(object_.get(), "_chare", Py_None) != 0) PyErr_Clear();
}

made_with made_of(const nb::object& made) {
  const nb::object cls = nb::cast<nb::tuple>(made)[0];
  return {name_of_python(nb::cast<std::string>(cls.attr("__qualname__"))), value::pickled(made)};
}

const char* method_of_class(const char* cls, const char* method) {
  struct hash {
    std::size_t operator()(const std::pair<const char*, const char*>& names) const {
      return std::hash<const char*>()(names.first) * 31 + std::hash<const char*>()(names.second);
    }
  };
  thread_local std::unordered_map<std::pair<const char*, const char*>, const char*, hash> known;
  const char*& both = known[{cls, method}];
  if (both == nullptr) both = ix::kept_name(std::string(cls) + "." + method);
  return both;
}

void held_object::hold(const char* by, const value& from, chare_interface* of, const std::string& where) {
  const with_python here;
  try {
    const nb::object object = helper(by)(from.get(), nb::cast(of, nb::rv_policy::reference));
    name_ = ix::kept_name(nb::cast<std::string>(object.type().attr("__qualname__")));
    object_ = owned(nb::object(object).release().ptr());
  } catch (nb::python_error& e) {
    throw python_failure::of(e, where);
  }
}

void held_object::make(const made_with& made, chare_interface* of) {
  hold("make", made.what, of, method_of_class(made.cls.get(), "__init__"));
}

void held_object::read(const value& state, chare_parts& with, chare_interface* of) {
  const chare_parts::in_use here(with);
  hold("read", state, of, "__setstate__ of a chare");
}

value held_object::state(chare_parts& with) const {
  const with_python here;
  const chare_parts::in_use now(with);
  try {
    value v = value::pickled(helper("state")(nb::handle(object_.get())));
    known_size_ = v.num_pickled() + with.num_bytes();
    return v;
  } catch (nb::python_error& e) {
    throw python_failure::of(e, std::string(name_) + ", which moves or goes into a checkpoint, has to be pickled");
  }
}

std::size_t held_object::size_of_state() const {
  if (known_size_ == 0) {
    chare_parts parts(false);
    state(parts);
  }
  return known_size_;
}

held_object::begun held_object::begin(const char* method, const value& arguments) const {
  const with_python here;
  const nb::handle object(object_.get());
  begun b;
  b.where = method_of_class(name_, method);
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
