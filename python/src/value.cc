#include "value.h"

#include "signals.h"

#include <fmt/format.h>
#include <nanobind/ndarray.h>

#include <cstdint>
#include <cstring>
#include <numeric>
#include <utility>
#include <vector>

namespace imbrex_python {

namespace {

constexpr int protocol = 5;
constexpr std::size_t alignment = 64;
const bool failures_travel = ix::register_exception<python_failure>("python");

std::size_t aligned(std::size_t n) { return (n + alignment - 1) / alignment * alignment; }

/// What pickle makes of an object, with the memory of its arrays behind it, each aligned: so it is copied once here,
/// and not at all where it arrives. In front the number of arrays, and the sizes of the first part and of each.
std::string pickle(nb::handle o) {
  const nb::list arrays;
  const nb::object first = nb::module_::import_("pickle").attr("dumps")(
      o, nb::arg("protocol") = protocol, nb::arg("buffer_callback") = arrays.attr("append"));
  std::vector<std::uint64_t> sizes{nb::len(arrays), static_cast<std::uint64_t>(PyBytes_GET_SIZE(first.ptr()))};
  std::vector<Py_buffer> buffers(nb::len(arrays));
  for (std::size_t i = 0; i < buffers.size(); ++i) {
    if (PyObject_GetBuffer(arrays[i].attr("raw")().ptr(), &buffers[i], PyBUF_SIMPLE) != 0) throw nb::python_error();
    sizes.push_back(static_cast<std::uint64_t>(buffers[i].len));
  }
  const std::size_t head = sizes.size() * sizeof(std::uint64_t);
  std::string bytes;
  bytes.reserve(aligned(head + sizes[1]) +
                std::accumulate(sizes.begin() + 2, sizes.end(), std::size_t{0},
                                [](std::size_t n, std::size_t m) { return n + aligned(m); }));
  bytes.append(reinterpret_cast<const char*>(sizes.data()), head);
  bytes.append(PyBytes_AS_STRING(first.ptr()), sizes[1]);
  for (Py_buffer& b : buffers) {
    bytes.resize(aligned(bytes.size()));
    bytes.append(static_cast<const char*>(b.buf), static_cast<std::size_t>(b.len));
    PyBuffer_Release(&b);
  }
  return bytes;
}

/// The arrays lie in `bytes`, which lives as long as they.
nb::object unpickle(const std::shared_ptr<std::string>& bytes) {
  const std::size_t all = bytes->size();
  const auto number = [&](std::size_t i) {
    std::uint64_t n = 0;
    if ((i + 1) * sizeof n > all) throw ix::comm_error("a pickled message is shorter than it says");
    std::memcpy(&n, bytes->data() + i * sizeof n, sizeof n);
    return n;
  };
  const std::uint64_t num_arrays = number(0);
  std::size_t at = (num_arrays + 2) * sizeof(std::uint64_t);
  const auto piece = [&](std::uint64_t size) {
    if (num_arrays > all || at > all || size > all - at)
      throw ix::comm_error("a pickled message is shorter than it says");
    return bytes->data() + std::exchange(at, aligned(at + size));
  };
  const std::uint64_t first_size = number(1);
  char* const first = piece(first_size);
  const auto view = nb::steal(PyMemoryView_FromMemory(first, static_cast<Py_ssize_t>(first_size), PyBUF_READ));
  nb::list arrays;
  for (std::uint64_t i = 0; i < num_arrays; ++i) {
    const std::uint64_t size = number(i + 2);
    const nb::capsule owner(new std::shared_ptr<std::string>(bytes),
                            [](void* p) noexcept { delete static_cast<std::shared_ptr<std::string>*>(p); });
    arrays.append(nb::cast(nb::ndarray<nb::numpy, unsigned char, nb::ndim<1>>(piece(size), {size}, owner)));
  }
  return nb::module_::import_("pickle").attr("loads")(view, nb::arg("buffers") = arrays);
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

namespace {
value pickled_or_refused(const nb::object& o, const char* what) {
  try {
    return value::pickled(o);
  } catch (nb::python_error& e) {
    throw ix::usage_error(fmt::format("{}, but this cannot be: {}", what, e.what()));
  }
}
}  // namespace

value value::copied(const nb::object& o) {
  return pickled_or_refused(o, "what goes to several elements is pickled, so that each gets a copy");
}

value value::for_all_ranks(const nb::object& o) {
  return pickled_or_refused(o, "a graph's coroutine and its arguments go to all ranks, and are pickled");
}

nb::object value::get() const {
  if (shared_ == nullptr) return nb::none();
  if (shared_->object) return nb::borrow(shared_->object.get());
  // Arrays of others would lie in the same memory.
  const bool is_alone = shared_.use_count() == 1 && !std::exchange(shared_->is_given, true);
  return unpickle(is_alone ? shared_->bytes : std::make_shared<std::string>(*shared_->bytes));
}

std::string& value::packed() {
  static std::string none;
  if (shared_ == nullptr) return none;
  const with_python here;
  const nb::ft_lock_guard alone(shared_->packing);
  if (shared_->bytes == nullptr) {
    try {
      auto made = std::make_shared<std::string>(pickle(nb::handle(shared_->object.get())));
      // Pickling may have let another thread do the same.
      if (shared_->bytes == nullptr) shared_->bytes = std::move(made);
    } catch (nb::python_error& e) {
      throw ix::usage_error(std::string("what goes to another rank has to be pickled, but this cannot: ") + e.what());
    }
  }
  return *shared_->bytes;
}

void value::unpack(std::string bytes) {
  shared_ = nullptr;
  if (bytes.empty()) return;
  shared_ = std::make_shared<shared>();
  shared_->bytes = std::make_shared<std::string>(std::move(bytes));
}

std::string text_of(nb::handle str) {
  const nb::object bytes = nb::steal(PyUnicode_AsEncodedString(str.ptr(), "utf-8", "backslashreplace"));
  if (!bytes.is_valid()) throw nb::python_error();
  std::string text(PyBytes_AS_STRING(bytes.ptr()), static_cast<std::size_t>(PyBytes_GET_SIZE(bytes.ptr())));
  for (std::size_t at = 0; (at = text.find('\0', at)) != std::string::npos;) text.replace(at, 1, "\\x00");
  return text;
}

std::string shown(nb::handle o) { return text_of(nb::repr(o)); }

void check_in_job() {
  if (ix::executor::current() == nullptr) {
    throw ix::usage_error(
        "this is done inside of a job: in the main chare or a method of a chare, by the thread that runs it");
  }
}

namespace {
/// A copy for who gets it. One that cannot be pickled, and made again from that, goes itself, inside the process.
value on_its_way(const nb::object& thrown) {
  try {
    value copy = value::pickled(thrown);
    static_cast<void>(value(copy).get());
    return copy;
  } catch (nb::python_error&) {
    return value(thrown);
  }
}
}  // namespace

value python_failure::what_travels() const {
  try {
    static_cast<void>(ix::serialized_size(exception_));
    return exception_;
  } catch (const ix::usage_error&) {
    return {};
  }
}

python_failure python_failure::of(nb::python_error& e, const std::string& where) {
  see_if_interrupted(e);
  std::string text = where + ":\n";
  value v;
  try {
    nb::object traceback = nb::none();  // what has been thrown by no line of Python has none
    if (e.traceback().is_valid()) traceback = nb::borrow(e.traceback());
    const nb::object lines = nb::module_::import_("traceback").attr("format_exception")(e.type(), e.value(), traceback);
    text += text_of(nb::str("").attr("join")(lines));
    v = on_its_way(nb::borrow(e.value()));
  } catch (nb::python_error&) {
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
