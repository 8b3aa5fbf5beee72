#include "arrays.h"

#include <fmt/format.h>
#include <nanobind/ndarray.h>

#include <cstdint>
#include <cstring>
#include <string>

namespace imbrex_python {

namespace {

using host_array = nb::ndarray<nb::c_contig, nb::device::cpu>;
using read_only_host_array = nb::ndarray<nb::ro, nb::c_contig, nb::device::cpu>;
using gpu_array = nb::ndarray<nb::c_contig, nb::device::cuda>;
using read_only_gpu_array = nb::ndarray<nb::ro, nb::c_contig, nb::device::cuda>;

std::string type_of(const nb::object& o) { return shown(nb::type_name(o.type())); }

template <class Array>
bool take(const nb::object& o, bool on_gpu, array_memory& to) {
  Array a;
  if (!nb::try_cast(o, a, false)) return false;  // converting it would make a copy
  to.data = static_cast<std::byte*>(const_cast<void*>(static_cast<const void*>(a.data())));
  to.bytes = a.nbytes();
  to.on_gpu = on_gpu;
  to.kept = value(nb::make_tuple(o, nb::cast(a)));
  return true;
}

/// The memory of a buffer of Python, which stays where it is meanwhile.
struct borrowed_buffer {
  Py_buffer of{};
  borrowed_buffer() = default;
  borrowed_buffer(const borrowed_buffer&) = delete;
  borrowed_buffer& operator=(const borrowed_buffer&) = delete;
  ~borrowed_buffer() {
    if (of.obj == nullptr || !Py_IsInitialized()) return;
    const with_python here;
    PyBuffer_Release(&of);
  }
};

/// Of elements of any type but references to objects of Python.
bool take_buffer(const nb::object& o, bool to_write, array_memory& to) {
  if (PyObject_CheckBuffer(o.ptr()) == 0) return false;
  const auto borrowed = std::make_shared<borrowed_buffer>();
  const int flags = PyBUF_C_CONTIGUOUS | PyBUF_FORMAT | (to_write ? PyBUF_WRITABLE : 0);
  if (PyObject_GetBuffer(o.ptr(), &borrowed->of, flags) != 0) {
    PyErr_Clear();
    return false;
  }
  const Py_buffer& b = borrowed->of;
  if (b.format != nullptr && std::strchr(b.format, 'O') != nullptr) return false;
  to.data = static_cast<std::byte*>(b.buf);
  to.bytes = static_cast<std::size_t>(b.len);
  to.kept = value(o);
  to.lent = borrowed;
  return true;
}

/// Of numpy's types that have no buffers, such as times: the same memory as bytes.
bool take_as_bytes(const nb::object& o, bool to_write, array_memory& to) {
  if (!nb::hasattr(o, "view") || !nb::hasattr(o, "dtype") || !nb::hasattr(o, "flags")) return false;
  try {
    if (!nb::cast<bool>(o.attr("flags").attr("c_contiguous")) || nb::cast<bool>(o.attr("dtype").attr("hasobject")))
      return false;
    const nb::object bytes = o.attr("reshape")(-1).attr("view")("u1");
    return take_buffer(bytes, to_write, to);
  } catch (nb::python_error&) {
    return false;
  } catch (nb::cast_error&) {
    return false;
  }
}

CUstream_st* native(std::uintptr_t number) { return reinterpret_cast<CUstream_st*>(number); }

/// Version 2 and 3 of the CUDA array interface.
array_memory by_cuda_interface(const nb::object& o, const nb::dict& says, bool to_write) {
  array_memory m;
  m.on_gpu = true;
  m.kept = value(o);
  const auto data = nb::cast<nb::tuple>(says["data"]);
  m.data = reinterpret_cast<std::byte*>(nb::cast<std::uintptr_t>(data[0]));
  if (to_write && nb::cast<bool>(data[1]))
    throw ix::usage_error("this array on a GPU is read-only: receive into another");
  const auto type = nb::cast<std::string>(says["typestr"]);
  m.bytes = std::stoull(type.substr(2));
  const std::size_t element = m.bytes;
  const auto shape = nb::cast<nb::tuple>(says["shape"]);
  for (const nb::handle n : shape) m.bytes *= nb::cast<std::size_t>(n);
  if (m.bytes > 0 && says.contains("strides") && !says["strides"].is_none()) {
    const auto strides = nb::cast<nb::tuple>(says["strides"]);
    std::size_t expected = element;
    for (std::size_t i = shape.size(); i-- > 0;) {
      const auto n = nb::cast<std::size_t>(shape[i]);
      if (n != 1 && nb::cast<std::int64_t>(strides[i]) != static_cast<std::int64_t>(expected))
        throw ix::usage_error(
            "this array on a GPU has gaps, or is not in C order: give a copy that is (cupy.ascontiguousarray)");
      expected *= n;
    }
  }
  if (says.contains("stream") && !says["stream"].is_none())
    m.ready_in = native(nb::cast<std::uintptr_t>(says["stream"]));
  return m;
}

/// What keeps an array of numpy from being taken; empty: it is none, or that is not known.
std::string why_not(const nb::object& o, bool to_write) {
  if (!nb::hasattr(o, "flags") || !nb::hasattr(o, "dtype")) return {};
  try {
    if (nb::cast<bool>(o.attr("dtype").attr("hasobject")))
      return "its elements are objects of Python: send it as an argument";
    const nb::object flags = o.attr("flags");
    if (!nb::cast<bool>(flags.attr("c_contiguous")))
      return "it has gaps, or is not in C order: numpy.ascontiguousarray gives a copy that is";
    if (to_write && !nb::cast<bool>(flags.attr("writeable"))) return "it is read-only: receive into another";
  } catch (nb::python_error&) {
  } catch (nb::cast_error&) {
  }
  return {};
}

}  // namespace

array_memory array_memory::of(const nb::object& array, bool to_write) {
  array_memory m;
  if (nb::hasattr(array, "__cuda_array_interface__"))
    return by_cuda_interface(array, nb::cast<nb::dict>(array.attr("__cuda_array_interface__")), to_write);
  const bool is_taken =
      take_buffer(array, to_write, m) || take_as_bytes(array, to_write, m) ||
      (to_write ? take<host_array>(array, false, m) || take<gpu_array>(array, true, m)
                : take<read_only_host_array>(array, false, m) || take<read_only_gpu_array>(array, true, m));
  if (!is_taken) {
    if (const std::string why = why_not(array, to_write); !why.empty())
      throw ix::usage_error(fmt::format("this {} cannot be taken: {}", type_of(array), why));
    throw ix::usage_error(
        fmt::format("this takes arrays in C order without gaps{}, of main memory (numpy) or of a GPU "
                    "(__cuda_array_interface__, DLPack): not this {}",
                    to_write ? ", to be written" : "", type_of(array)));
  }
  return m;
}

std::optional<CUstream_st*> stream_of_cuda(const nb::object& stream) {
  if (stream.is_none()) return std::nullopt;
  std::uintptr_t number = 0;
  if (nb::try_cast(stream, number)) return native(number);
  for (const char* name : {"ptr", "cuda_stream"}) {
    if (nb::hasattr(stream, name)) return native(nb::cast<std::uintptr_t>(stream.attr(name)));
  }
  if (nb::hasattr(stream, "__cuda_stream__")) {
    const auto says = nb::cast<nb::tuple>(stream.attr("__cuda_stream__")());
    return native(nb::cast<std::uintptr_t>(says[1]));
  }
  throw ix::usage_error("a stream of CUDA is a number, or has ptr, cuda_stream or __cuda_stream__: not this " +
                        type_of(stream));
}

}  // namespace imbrex_python
