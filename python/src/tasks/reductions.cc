#include "reductions.h"

#include <imbrex/text_kernels.h>

#include <string>
#include <utility>

#include "submitted.h"

namespace imbrex_python {

namespace {

/// An operation of the program's own: on the host a function of Python on arrays, on devices a kernel from a string, or
/// one of them everywhere.
class python_operation final : public ix::own_operation {
 public:
  /// `f`: as the program has it, which says whether two are the same; `combine`: what is called with two parts' memory.
  /// None where the kernel does all. `bytes`: of the objects that are reduced into.
  python_operation(const nb::object& f, const nb::object& combine, std::string name, const ix::kernel_source* k,
                   const nb::bytes& identity, std::size_t bytes)
      : function_(f), combine_(combine), name_(std::move(name)), kernel_(k), by_function_(!combine.is_none()) {
    const auto* const first = static_cast<const std::byte*>(identity.data());
    identity_.assign(first, first + identity.size());
    if (k != nullptr) static_cast<void>(ix::combining_by(*k, bytes));  // says what is wrong with it
  }

  std::span<const std::byte> identity() const override { return identity_; }
  std::uint8_t runs_on() const override {
    if (kernel_ == nullptr) return ix::task_node::on_the_host;
    const std::uint8_t where = ix::task_node::where_runs(*kernel_);
    if (!by_function_) return where;
    const std::uint8_t on_host = ix::task_node::on_the_host | ix::task_node::on_devices(ix::device_kind::host);
    return static_cast<std::uint8_t>((where & ~on_host) | ix::task_node::on_the_host);
  }
  std::function<void(const ix::untyped_call&)> combining(std::size_t bytes) const override {
    std::function<void(const ix::untyped_call&)> by_kernel;
    if (kernel_ != nullptr) by_kernel = ix::combining_by(*kernel_, bytes);
    if (!by_function_) return by_kernel;
    const python_function call(combine_, name_, {{bytes, false}, {bytes, true}}, std::make_shared<outcome>());
    return [call, by_kernel](const ix::untyped_call& c) { c.order != nullptr ? by_kernel(c) : call(c); };
  }
  /// Called from Python.
  bool is(const ix::own_operation& other) const override {
    const auto* const o = dynamic_cast<const python_operation*>(&other);
    if (o == nullptr || o->kernel_ != kernel_ || o->identity_ != identity_) return false;
    const with_python here;
    const int equal = PyObject_RichCompareBool(function_.get().ptr(), o->function_.get().ptr(), Py_EQ);
    if (equal < 0) PyErr_Clear();
    return equal > 0;
  }

 private:
  value function_;
  value combine_;
  std::string name_;
  const ix::kernel_source* kernel_;
  bool by_function_;
  std::vector<std::byte> identity_;
};

using operation_pointer = std::shared_ptr<const ix::own_operation>;

/// What Python has of it.
struct operation_handle {
  operation_pointer operation;
};

operation_handle make_operation(const nb::object& f, const nb::object& combine, const std::string& name,
                                const nb::object& kernel, const nb::bytes& identity, std::size_t bytes) {
  const ix::kernel_source* k = nullptr;
  if (!kernel.is_none()) {
    const auto of = nb::cast<nb::tuple>(kernel);
    k = &nb::cast<const ix::text_kernels&>(of[0]).get(nb::cast<std::string>(of[1]));
  }
  return {std::make_shared<python_operation>(f, combine, name, k, identity, bytes)};
}

}  // namespace

ix::untyped_graph_reduction reduction_of(const nb::handle& how) {
  const auto t = nb::cast<nb::tuple>(how);
  ix::untyped_graph_reduction r;
  r.parts = nb::cast<std::size_t>(t[2]);
  if (nb::isinstance<operation_handle>(t[0])) {
    r.own = nb::cast<const operation_handle&>(t[0]).operation;
  } else {
    r.numbers = number_of(nb::cast<std::string>(t[1]));
    r.op = operation_of(nb::cast<std::string>(t[0]));
  }
  return r;
}

ix::untyped_use reduce_into(const bytes_object& o, const ix::untyped_graph_reduction& how) {
  if (how.own != nullptr) return ix::untyped_reduce(*o.data(), how.own, how.parts);
  return ix::untyped_reduce(*o.data(), how.numbers, how.op, how.parts);
}

void bind_reductions(nb::module_& m) {
  nb::class_<operation_handle>(m, "_Operation")
      .def(
          "__init__",
          [](operation_handle* h, const nb::object& f, const nb::object& combine, const std::string& name,
             const nb::object& kernel, const nb::bytes& identity, std::size_t bytes) {
            new (h) operation_handle(make_operation(f, combine, name, kernel, identity, bytes));
          },
          nb::arg("function").none(), nb::arg("combine").none(), nb::arg("name"), nb::arg("kernel").none(),
          nb::arg("identity"), nb::arg("bytes"));
}

}  // namespace imbrex_python
