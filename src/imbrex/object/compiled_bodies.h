#pragma once

#include "imbrex/object/broadcast_messages.h"
#include "imbrex/object/channel.h"
#include "imbrex/object/create.h"
#include "imbrex/object/insertion.h"
#include "imbrex/object/moving/element_route.h"
#include "imbrex/object/moving/move_request.h"
#include "imbrex/object/reduction.h"
#include "imbrex/object/section_impl.h"

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

#define IMBREX_COMPILED_RESULT_TO(prefix, T, Op, Target)             \
  IMBREX_COMPILED_BODY(prefix, detail::partial_body<T, Op, Target>); \
  prefix template struct detail::partial<T, Op, Target>

#define IMBREX_COMPILED_RESULT(prefix, T, Op) IMBREX_COMPILED_RESULT_TO(prefix, T, Op, to_reduction)

#define IMBREX_COMPILED_FOR_ALL(prefix, T)                                                                \
  IMBREX_COMPILED_BODY(prefix, detail::all_reduced<T>);                                                   \
  IMBREX_COMPILED_BODY(prefix, detail::section_reduced<T>);                                               \
  prefix template void scheduler::relay<detail::all_reduced<T>>(const detail::all_reduced<T>&, priority); \
  prefix template void detail::resume_contributors<T>(reducer&, const reduction_id&, const T&)

#define IMBREX_COMPILED_INDEX(prefix, Index)                 \
  IMBREX_COMPILED_BODY(prefix, location_update<Index>);      \
  IMBREX_COMPILED_BODY(prefix, end_body<Index>);             \
  IMBREX_COMPILED_BODY(prefix, detail::channel_body<Index>); \
  IMBREX_COMPILED_BODY(prefix, move_body<Index>);            \
  IMBREX_COMPILED_BODY(prefix, carried_work<Index>);         \
  IMBREX_COMPILED_BODY(prefix, arrival_notice<Index>);       \
  prefix template struct detail::channel_body<Index>;        \
  prefix template struct detail::channel_link_to<Index>;     \
  prefix template struct move_body<Index>;                   \
  prefix template struct carried_work<Index>;                \
  prefix template class element_route<Index>

#define IMBREX_COMPILED_ARRAY(prefix, Index)                                                                         \
  prefix template class array_part<Index>;                                                                           \
  IMBREX_COMPILED_INDEX(prefix, Index);                                                                              \
  IMBREX_COMPILED_BODY(prefix, section_request<Index>);                                                              \
  IMBREX_COMPILED_BODY(prefix, section_announcement<Index>);                                                         \
  IMBREX_COMPILED_BODY(prefix, broadcast_body<Index>);                                                               \
  IMBREX_COMPILED_BODY(prefix, section_broadcast_body<Index>);                                                       \
  IMBREX_COMPILED_BODY(prefix, detail::missed_broadcast<Index>);                                                     \
  IMBREX_COMPILED_BODY(prefix, detail::section_copy<Index>);                                                         \
  prefix template struct broadcast_body<Index>;                                                                      \
  prefix template struct section_broadcast_body<Index>;                                                              \
  prefix template void detail::begin_broadcast<Index>(scheduler&, collection_id, section_id, priority, shared_call); \
  prefix template struct section_request<Index>;                                                                     \
  prefix template struct section_announcement<Index>

#define IMBREX_COMPILED_BODIES(prefix)                     \
  IMBREX_COMPILED_BODY(prefix, detail::reduction_request); \
  IMBREX_COMPILED_REPLY(prefix, void);                     \
  IMBREX_COMPILED_REPLY(prefix, int);                      \
  IMBREX_COMPILED_REPLY(prefix, double);                   \
  IMBREX_COMPILED_RESULT(prefix, int, sum_op);             \
  IMBREX_COMPILED_RESULT(prefix, double, sum_op);          \
  IMBREX_COMPILED_RESULT(prefix, double, max_op);          \
  IMBREX_COMPILED_FOR_ALL(prefix, int);                    \
  IMBREX_COMPILED_FOR_ALL(prefix, double);                 \
  prefix template class channel<float>;                    \
  prefix template class channel<double>;                   \
  IMBREX_COMPILED_REPLY(prefix, std::string);              \
  IMBREX_COMPILED_INDEX(prefix, no_index);                 \
  IMBREX_COMPILED_ARRAY(prefix, index1d);                  \
  IMBREX_COMPILED_ARRAY(prefix, index2d);                  \
  IMBREX_COMPILED_ARRAY(prefix, index3d)

namespace imbrex {
IMBREX_COMPILED_BODIES(extern);
}  // namespace imbrex
