#pragma once

#include <imbrex/imbrex.h>

#include <string>

namespace imbrex_test {

/// What a chare class of the name `(anonymous namespace)::worker` answered, one in each of two files.
struct answers {
  std::string called, slot, broadcast, single, callback;
  bool operator==(const answers&) const = default;
};

imbrex::task<answers> ask_one_file(imbrex::runtime& rt);
imbrex::task<answers> ask_the_other_file(imbrex::runtime& rt);

}  // namespace imbrex_test
