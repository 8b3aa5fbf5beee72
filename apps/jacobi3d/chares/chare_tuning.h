#pragma once

#include <imbrex/imbrex.h>

#include <cstdint>
#include <string>

/// `--odf auto`, `--steps auto`, `--fusion auto`.
namespace jacobi {

namespace ix = imbrex;

/// Finds what `auto` stands for, by runs of a few iterations each, or remembers it from a run before; all ranks'
/// `this_job.given` say so from then on. Returns what was found, in words; nothing where nothing is `auto`. The search
/// ends after a tenth of the iterations of a repeat (or a hundred, if those are more), or a tenth of a second of
/// iterating, whichever takes longer.
ix::task<std::string> choose_options(ix::runtime& rt);

/// One run with what `this_job.given` says: microseconds an iteration. What it made is gone when it returns. Throws
/// `usage_error` and `out_of_memory` when it cannot be done.
ix::task<double> try_on_host(ix::runtime& rt);
ix::task<double> try_on_gpus(ix::runtime& rt);

}  // namespace jacobi
