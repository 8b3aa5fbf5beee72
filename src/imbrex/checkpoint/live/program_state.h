#pragma once

#include <cstddef>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "imbrex/base/serialize.h"
#include "imbrex/base/type_digest.h"
#include "imbrex/base/type_name.h"

/// The object that `run<Program>` started, as a checkpoint has it: its bytes, and of which types they were written.
namespace imbrex::detail {

/// In a handler: throws a `checkpoint_error` "<what> cannot be read (<what was caught>): <what to do>".
[[noreturn]] void throw_unreadable(const std::string& what);
void warn_of_program_of_other_types(std::string_view type);

template <class Program>
std::vector<std::byte> save_program(const Program& p) {
  const std::size_t size = serialized_size(p);
  std::vector<std::byte> bytes(size + sizeof(std::uint32_t));
  typed_output out(bytes.data());
  out & p;
  const std::uint32_t types = out.types().value();
  std::memcpy(bytes.data() + size, &types, sizeof types);
  return bytes;
}

template <class Program>
void restore_program(const std::vector<std::byte>& saved, Program& p) {
  try {
    const auto [bytes, types] = split_typed(saved);
    typed_input in(bytes);
    in & p;
    if (in.bytes_left() != 0) throw_left_over(type_name<Program>(), in.bytes_left());
    if (types != in.types().value()) warn_of_program_of_other_types(type_name<Program>());
  } catch (...) {
    throw_unreadable("the checkpoint has a state of the program (" + std::string(type_name<Program>()) + ") that");
  }
}

}  // namespace imbrex::detail
