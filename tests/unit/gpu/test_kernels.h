#pragma once

#include <cstdint>

namespace imbrex {
class stream;
}

namespace imbrex_test {

/// data[i] = data[i] * factor + term
void multiply_add(imbrex::stream& s, std::int64_t* data, std::int64_t count, std::int64_t factor, std::int64_t term);
/// data[i] += term, by a kernel that tells of its end itself.
void marked_add(imbrex::stream& s, std::int64_t* data, std::int64_t count, std::int64_t term);
/// Takes so many microseconds, then writes 1 to `*done`.
void take_time(imbrex::stream& s, std::int64_t microseconds, int* done);
/// A launch that no GPU accepts.
void launch_with_too_many_threads(imbrex::stream& s);
/// Writes to address 8.
/// A kernel of its own for each `which` of 0 to 3.
void launch_for_the_first_time(imbrex::stream& s, int which, int* done);
void write_where_nothing_is(imbrex::stream& s);

}  // namespace imbrex_test
