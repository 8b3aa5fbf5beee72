#pragma once

#include <string>
#include <vector>

namespace mpi_check {

/// What an executable file says of itself, as far as preloading is concerned.
struct program_file {
  enum class linkage {
    other,       ///< not an ELF file for 64 bits, or none that is executed
    dynamic,     ///< a dynamic linker loads it, and its MPI: libraries can be preloaded
    static_all,  ///< no dynamic linker (no PT_INTERP): nothing can be preloaded
    static_mpi   ///< dynamic, but PMPI_Init is defined in it: its calls never leave it
  };
  std::string path;
  linkage how = linkage::other;
  bool has_mpi = false;  ///< PMPI_Init is defined in it; unknown, so false, where its symbols were stripped
};

/// `other` for what cannot be read.
program_file look_at_program(const std::string& path);

/// The program into which the library cannot be loaded among the words of a command, and the words of scripts that it
/// runs where `in_scripts`; an empty path where there is none. Without `in_scripts` only what is certain counts: a file
/// with an MPI inside.
program_file unreachable_program(const std::vector<std::string>& command, bool in_scripts);

/// What it is, and what to type instead. `library` is the library's path.
std::string remedy_for(const program_file& program, const std::string& library);

}  // namespace mpi_check
