#pragma once

#include <cstdint>

namespace imbrex {
class stream;
}

namespace imbrex_bench {

/// A kernel that does nothing; the same telling of its end itself; one that takes so long.
void nothing(imbrex::stream& s);
void nothing_marked(imbrex::stream& s);
void take_time(imbrex::stream& s, std::int64_t microseconds);

}  // namespace imbrex_bench
