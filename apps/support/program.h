#pragma once

#include <functional>

namespace apps {

/// What `main` returns: the code of `body`, or that of the exception which leaves it, of which a line is printed.
/// `remedy`: of an application that finds no memory. A standard output that has not taken everything is a failure, too,
/// unless its reader has closed it.
int run_program(const char* name, const char* remedy, const std::function<int()>& body);

}  // namespace apps
