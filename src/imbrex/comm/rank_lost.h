#pragma once

#include <string>

#include "imbrex/base/error.h"

namespace imbrex {

/// A rank is lost, and the others can go on without it: thrown by the `poll` of a transport that can make another one
/// of those that are left. Where that cannot be, the loss is a `comm_error`.
class rank_lost : public comm_error {
 public:
  using comm_error::comm_error;
};

/// The code of a `job_end` after which the job begins again in the same processes, with those that are left. No exit
/// code of a program: they have 8 bits. Should a process end by it all the same, 75 is what is seen (EX_TEMPFAIL).
inline constexpr int begin_again = (1 << 16) + 75;

}  // namespace imbrex
