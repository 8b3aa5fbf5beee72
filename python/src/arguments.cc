#include "arguments.h"

#include <fmt/format.h>
#include <limits>

#include "value.h"

namespace imbrex_python {

int whole_number(nb::handle given, const char* what) {
  if (PyIndex_Check(given.ptr()) == 0)
    throw ix::usage_error(fmt::format("{} is a whole number, not {}", what, shown(given)));
  const nb::object number = nb::steal(PyNumber_Index(given.ptr()));
  if (!number.is_valid()) throw nb::python_error();
  int overflow = 0;
  const long long n = PyLong_AsLongLongAndOverflow(number.ptr(), &overflow);
  if (overflow != 0 || n > std::numeric_limits<int>::max() || n < std::numeric_limits<int>::min())
    throw ix::usage_error(fmt::format("{} is below 2^31, not {}", what, shown(given)));
  return static_cast<int>(n);
}

int pe_of_job(nb::handle given) {
  check_in_job();
  const int pe = whole_number(given, "a PE");
  const int all = ix::scheduler::current().num_pes();
  if (pe < 0 || pe >= all) throw ix::usage_error(fmt::format("there is no PE {}: they are 0 to {}", pe, all - 1));
  return pe;
}

std::vector<int> whole_numbers(nb::handle given, const char* what) {
  std::vector<int> numbers;
  if (nb::isinstance<nb::tuple>(given) || nb::isinstance<nb::list>(given)) {
    for (const nb::handle h : given) numbers.push_back(whole_number(h, what));
  } else {
    numbers.push_back(whole_number(given, what));
  }
  return numbers;
}

}  // namespace imbrex_python
