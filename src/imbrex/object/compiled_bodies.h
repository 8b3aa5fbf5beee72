#pragma once

#include "imbrex/object/channel.h"
#include "imbrex/object/create.h"
#include "imbrex/object/insertion.h"
#include "imbrex/object/reduction.h"

/// What nearly every program sends and awaits, compiled once, in the library: programs only refer to it. For each body
/// the ways it is sent, received and performed; for the built-in indices what stands behind an array. Bodies that name
/// a chare or its methods are compiled in the program.
#define IMBREX_COMPILED_BODY(prefix, ...)                                            \
  prefix template void scheduler::send<__VA_ARGS__>(pe_id, __VA_ARGS__&&, priority); \
  prefix template void active_message<__VA_ARGS__>::perform(work*, work_action);     \
  prefix template void handler<__VA_ARGS__>::receive(scheduler&, wire_message*);     \
  prefix template void perform_body_here<__VA_ARGS__>(__VA_ARGS__&, std::uint64_t)

#define IMBREX_COMPILED_REPLY(prefix, R)                                                 \
  IMBREX_COMPILED_BODY(prefix, reply_body<R>);                                           \
  prefix template void send_failure<R>(scheduler&, const reply_to&, std::exception_ptr); \
  prefix template void refuse<R>(scheduler&, const reply_to&, std::string)

#define IMBREX_COMPILED_RESULT(prefix, T, Op)                              \
  IMBREX_COMPILED_BODY(prefix, detail::partial_body<T, Op, to_reduction>); \
  prefix template struct detail::partial<T, Op, to_reduction>

#define IMBREX_COMPILED_INDEX(prefix, Index)                 \
  IMBREX_COMPILED_BODY(prefix, location_update<Index>);      \
  IMBREX_COMPILED_BODY(prefix, end_body<Index>);             \
  IMBREX_COMPILED_BODY(prefix, detail::channel_body<Index>); \
  prefix template struct detail::channel_link_to<Index>

#define IMBREX_COMPILED_BODIES(prefix)                     \
  IMBREX_COMPILED_BODY(prefix, detail::reduction_request); \
  IMBREX_COMPILED_REPLY(prefix, void);                     \
  IMBREX_COMPILED_REPLY(prefix, int);                      \
  IMBREX_COMPILED_REPLY(prefix, double);                   \
  IMBREX_COMPILED_RESULT(prefix, int, sum_op);             \
  IMBREX_COMPILED_RESULT(prefix, double, sum_op);          \
  IMBREX_COMPILED_RESULT(prefix, double, max_op);          \
  prefix template class channel<float>;                    \
  prefix template class channel<double>;                   \
  IMBREX_COMPILED_INDEX(prefix, no_index);                 \
  prefix template class array_part<index1d>;               \
  prefix template class array_part<index2d>;               \
  prefix template class array_part<index3d>;               \
  IMBREX_COMPILED_INDEX(prefix, index1d);                  \
  IMBREX_COMPILED_INDEX(prefix, index2d);                  \
  IMBREX_COMPILED_INDEX(prefix, index3d)

namespace imbrex {
IMBREX_COMPILED_BODIES(extern);
}  // namespace imbrex
