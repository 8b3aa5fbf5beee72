#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <imbrex/imbrex.h>

#include <memory>
#include <string>

#include "interpreter.h"

namespace imbrex_python {

namespace nb = nanobind;
namespace ix = imbrex;

/// An object of Python in a message. In a process the object itself goes; to another rank it is pickled. Copies share
/// it.
class value {
 public:
  /// None.
  value() = default;
  /// \name With the interpreter
  ///@{
  explicit value(const nb::object& o);
  /// Pickled at once, so that each who gets it has an object of its own.
  static value pickled(const nb::object& o);
  /// The same of arguments, said so where it cannot be done.
  static value copied(const nb::object& o);
  /// And of what all ranks get.
  static value for_all_ranks(const nb::object& o);
  /// Throws `nb::python_error` where it cannot be made from what was pickled.
  nb::object get() const;
  ///@}
  /// Bytes; 0 of None, and of what has not been pickled.
  std::size_t num_pickled() const {
    return shared_ == nullptr || shared_->bytes == nullptr ? 0 : shared_->bytes->size();
  }

  template <class Archive>
  void serialize(Archive& ar) {
    if constexpr (Archive::is_loading) {
      std::string bytes;
      ar & bytes;
      unpack(std::move(bytes));
    } else {
      ar& packed();
    }
  }

 private:
  struct shared {
    owned object;                        // empty: it is pickled
    std::shared_ptr<std::string> bytes;  // what pickle made of it; null: nothing yet. Once set, it stays
    nb::ft_mutex packing;                // where there is no lock of the interpreter
    bool is_given = false;               // arrays lie in the bytes that somebody has got
  };
  std::string& packed();
  void unpack(std::string bytes);

  std::shared_ptr<shared> shared_;
};

/// \name Of objects, for reports: what is no Unicode (of names of files, say) and zeros are escaped. With the
/// interpreter
///@{
std::string text_of(nb::handle str);
std::string shown(nb::handle o);  ///< by `repr`
///@}

/// Throws `usage_error` where no PE runs: proxies and the runtime may outlive the job, in variables of Python.
void check_in_job();

/// What Python code threw, on its way: with the object, and as text with the lines of the program.
class python_failure : public ix::error {
 public:
  python_failure() : error("") {}
  python_failure(const std::string& text, value v) : error(text), text_(text), exception_(std::move(v)) {}
  /// Of an exception that is being handled. With the interpreter.
  static python_failure of(nb::python_error& e, const std::string& where);
  const char* kind() const noexcept override { return "python"; }
  const char* what() const noexcept override { return text_.c_str(); }
  const value& exception() const { return exception_; }
  template <class Archive>
  void serialize(Archive& ar) {
    if constexpr (Archive::is_loading) {
      ar & text_ & exception_;
    } else {
      ar & text_& what_travels();
    }
  }

 private:
  /// The exception; None if it cannot be pickled, so that its text alone goes.
  value what_travels() const;

  std::string text_;
  value exception_;
};

/// The exception of Python for what was thrown on some PE. With the interpreter.
nb::object as_python_exception(const std::exception_ptr& e);

}  // namespace imbrex_python
