#include "unit/object/entry/equal_names.h"

namespace {

namespace ix = imbrex;
using imbrex_test::answers;

#define IMBREX_TEST_FILE "other"
#include "unit/object/entry/equal_names_worker.h"
#undef IMBREX_TEST_FILE

}  // namespace

ix::task<answers> imbrex_test::ask_the_other_file(ix::runtime& rt) { return ask(rt); }
