#include "imbrex/device/kernel/kernel_text.h"

#include <gmock/gmock.h>

#include "imbrex/device/kernel/kernel_dialect.h"

namespace kernel_text_test {

using namespace imbrex;
using testing::HasSubstr;
using testing::Not;

namespace {

TEST(kernel_text, kernels_get_a_first_parameter) {
  EXPECT_EQ(with_first_parameters("IX_KERNEL(f, (int n)) {}"), "IX_KERNEL(f, (IX_FIRST int n)) {}");
  EXPECT_EQ(with_first_parameters("IX_KERNEL_OF_GROUP(g, (8, 8, 1),\n (int n)) {}\nIX_KERNEL (h,( int n)) {}"),
            "IX_KERNEL_OF_GROUP(g, (8, 8, 1),\n (IX_FIRST int n)) {}\nIX_KERNEL (h,(IX_FIRST  int n)) {}");
  EXPECT_EQ(with_first_parameters("IX_KERNEL_RESIDENT(g, (8, 8, 1), 4, (int n)) {}"),
            "IX_KERNEL_RESIDENT(g, (8, 8, 1), 4, (IX_FIRST int n)) {}");
  EXPECT_EQ(with_first_parameters("IX_KERNEL(f, // (a\n /* b, (c */ (int n)) {}"),
            "IX_KERNEL(f, // (a\n /* b, (c */ (IX_FIRST int n)) {}");
}

TEST(kernel_text, what_is_no_kernel_stays) {
  for (const char* text :
       {"", "IX_KERNEL", "IX_KERNEL(", "IX_KERNEL(f", "IX_KERNEL(f)", "IX_KERNEL(f, ", "MY_IX_KERNEL(f, (int n))",
        "IX_KERNELS(f, (int n))", "// IX_KERNEL(f, (int n))\n", "/* IX_KERNEL(f, (int n))",
        "\"\\\"IX_KERNEL(f, (int n))", "'\\'' ", "kernel void f(int n) {}", IX_OPENCL_DIALECT})
    EXPECT_EQ(with_first_parameters(text), text);
}

TEST(kernel_text, has_no_macro_of_variable_length) { EXPECT_THAT(IX_OPENCL_DIALECT, Not(HasSubstr("..."))); }

TEST(kernel_text, lines_of_a_log_are_named_as_the_text_says) {
  const char* text =
      "#define A 1\n"
      "#line 1 \"folder/saxpy.hk\"\n"
      "first\n"
      "second\n"
      "#line 10\n"
      "tenth\n"
      "#line 42 \"main.cc\"\n"
      "last\n";
  EXPECT_EQ(with_named_lines("<kernel>:3:19: error: use of 'x'\nfirst\n  ^\n<kernel>:4:1: note: here\n"
                             "<kernel>:1:9: note: expanded from macro 'A'\n1 error generated.\n",
                             text),
            "folder/saxpy.hk:1:19: error: use of 'x'\nfirst\n  ^\nfolder/saxpy.hk:2:1: note: here\n"
            "<kernel>:1:9: note: expanded from macro 'A'\n1 error generated.\n");
  EXPECT_EQ(with_named_lines("<kernel>:6:1: error", text), "folder/saxpy.hk:10:1: error");
  EXPECT_EQ(with_named_lines("in <kernel>:8: error", text), "in main.cc:42: error");
  EXPECT_EQ(with_named_lines("saxpy.hk:8:1: error", text), "saxpy.hk:8:1: error") << "the compiler has named it";
  EXPECT_EQ(with_named_lines("<kernel>:x <kernel>:", text), "<kernel>:x <kernel>:");
  EXPECT_EQ(with_named_lines("<kernel>:3:1: error", "no\ndirective\nat all\n"), "<kernel>:3:1: error");
}

}  // namespace

}  // namespace kernel_text_test
