#pragma once

namespace imbrex {

struct element_base;

namespace detail {

/// Notes what `e`, of which `serialize` may be called now, would take along, if that is wanted and was not noted since
/// it was asked for. One that cannot be written as it is now keeps what was known.
void note_size(element_base& e);

}  // namespace detail

}  // namespace imbrex
