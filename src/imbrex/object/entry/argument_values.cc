#include "imbrex/object/entry/argument_values.h"

#include <fmt/format.h>

#include "imbrex/base/error.h"
#include "imbrex/object/entry/index.h"

namespace imbrex::detail {

void refuse_argument(const char* entry, std::size_t place, const std::string& value, const char* parameter) {
  throw usage_error(
      fmt::format("argument {} of {} is {}, which a parameter of type {} cannot hold: let it have a "
                  "wider type, or convert what is sent",
                  place, entry, value, parameter));
}

void refuse_argument_of_constructor(const char* chare, std::size_t place, const std::string& value,
                                    const char* parameter) {
  refuse_argument(fmt::format("the constructor of {}", chare).c_str(), place, value, parameter);
}

void refuse_index(const std::string& index) {
  throw usage_error(fmt::format("index {} is outside of every array: an index1d has 32 bits", index));
}

}  // namespace imbrex::detail
