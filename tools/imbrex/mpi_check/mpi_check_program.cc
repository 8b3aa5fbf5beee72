// Programs into which no library can be preloaded: those that are linked statically, as a whole or with their MPI.
#include "mpi_check_program.h"

#include <elf.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string_view>

namespace mpi_check {

namespace fs = std::filesystem;

namespace {

/// A file that is read in pieces; a piece that is not there is empty.
class elf_file {
 public:
  explicit elf_file(const std::string& path) : in_(path, std::ios::binary) {
    header_ = read<Elf64_Ehdr>(0);
    is_elf_ = std::memcmp(header_.e_ident, ELFMAG, SELFMAG) == 0 && header_.e_ident[EI_CLASS] == ELFCLASS64 &&
              (header_.e_type == ET_EXEC || header_.e_type == ET_DYN);
  }

  bool is_elf() const { return is_elf_; }

  /// A shared library has no interpreter either, but a dynamic section that names it or what it needs.
  bool has_interpreter() { return has_segment(PT_INTERP); }
  bool is_executed() { return has_interpreter() || header_.e_type == ET_EXEC || is_static_pie(); }

  /// Whether a function of this name is defined in it, in either table of symbols.
  bool defines(std::string_view name) {
    for (unsigned i = 0; i < header_.e_shnum; ++i) {
      const auto table = section(i);
      if ((table.sh_type == SHT_SYMTAB || table.sh_type == SHT_DYNSYM) && table_defines(table, name)) return true;
    }
    return false;
  }

 private:
  template <class T>
  T read(std::uint64_t offset) {
    T value{};
    in_.clear();
    in_.seekg(static_cast<std::streamoff>(offset));
    if (!in_.read(reinterpret_cast<char*>(&value), sizeof value)) return {};
    return value;
  }

  std::string read_bytes(const Elf64_Shdr& s) {
    constexpr std::uint64_t most = std::uint64_t{1} << 31;
    std::string bytes(s.sh_size < most ? s.sh_size : 0, '\0');
    in_.clear();
    in_.seekg(static_cast<std::streamoff>(s.sh_offset));
    if (!in_.read(bytes.data(), static_cast<std::streamsize>(bytes.size()))) bytes.clear();
    return bytes;
  }

  Elf64_Shdr section(unsigned i) { return read<Elf64_Shdr>(header_.e_shoff + i * sizeof(Elf64_Shdr)); }
  Elf64_Phdr segment(unsigned i) { return read<Elf64_Phdr>(header_.e_phoff + i * sizeof(Elf64_Phdr)); }

  bool has_segment(Elf64_Word type) {
    for (unsigned i = 0; i < header_.e_phnum; ++i) {
      if (segment(i).p_type == type) return true;
    }
    return false;
  }

  bool is_static_pie() {
    for (unsigned i = 0; i < header_.e_phnum; ++i) {
      const Elf64_Phdr dynamic = segment(i);
      if (dynamic.p_type != PT_DYNAMIC) continue;
      for (std::uint64_t at = 0; at + sizeof(Elf64_Dyn) <= dynamic.p_filesz; at += sizeof(Elf64_Dyn)) {
        const auto entry = read<Elf64_Dyn>(dynamic.p_offset + at);
        if (entry.d_tag == DT_FLAGS_1) return (entry.d_un.d_val & DF_1_PIE) != 0;
        if (entry.d_tag == DT_NULL) return false;
      }
    }
    return false;
  }

  bool table_defines(const Elf64_Shdr& table, std::string_view name) {
    const std::string symbols = read_bytes(table);
    const std::string names = read_bytes(section(table.sh_link));
    for (std::size_t at = 0; at + sizeof(Elf64_Sym) <= symbols.size(); at += sizeof(Elf64_Sym)) {
      Elf64_Sym symbol;
      std::memcpy(&symbol, symbols.data() + at, sizeof symbol);
      const bool defined = symbol.st_shndx != SHN_UNDEF && symbol.st_value != 0;
      if (defined && symbol.st_name < names.size() && names.c_str() + symbol.st_name == name) return true;
    }
    return false;
  }

  std::ifstream in_;
  Elf64_Ehdr header_{};
  bool is_elf_ = false;
};

bool can_run(const fs::path& path) {
  std::error_code ignored;
  return fs::is_regular_file(path, ignored) && access(path.c_str(), X_OK) == 0;
}

/// As a shell finds it; empty where there is none.
std::string found_program(const std::string& word) {
  if (word.find('/') != std::string::npos) return can_run(word) ? word : "";
  const char* folders = std::getenv("PATH");
  std::istringstream all(folders == nullptr ? "" : folders);
  for (std::string folder; std::getline(all, folder, ':');) {
    if (can_run(fs::path(folder) / word)) return fs::path(folder) / word;
  }
  return "";
}

/// The words of a script, or of a line such as that after `sh -c`; none of other files.
std::vector<std::string> words_of(const std::string& text) {
  std::vector<std::string> words;
  std::string word;
  for (const char c : text + " ") {
    if (std::strchr(" \t\n;&|()\"'`<>=", c) == nullptr) {
      word += c;
    } else if (!word.empty()) {
      words.push_back(std::move(word));
      word.clear();
    }
  }
  return words;
}

std::string script_at(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  std::string text(std::size_t{1} << 16, '\0');
  in.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<std::size_t>(in.gcount()));
  return text.starts_with("#!") ? text : "";
}

bool cannot_be_reached(const program_file& p, bool certain) {
  if (p.how == program_file::linkage::static_mpi) return true;
  return p.how == program_file::linkage::static_all && (p.has_mpi || !certain);
}

program_file first_unreachable(const std::vector<std::string>& words, bool certain, int depth) {
  for (const std::string& word : words) {
    const std::string path = found_program(word);
    if (path.empty()) {
      if (depth > 0 && word.find(' ') != std::string::npos) {  // what a shell is given after -c
        if (program_file p = first_unreachable(words_of(word), certain, depth - 1); !p.path.empty()) return p;
      }
      continue;
    }
    if (program_file p = look_at_program(path); cannot_be_reached(p, certain)) return p;
    if (depth == 0) continue;
    const std::string script = script_at(path);
    if (program_file p = first_unreachable(words_of(script), certain, depth - 1); !p.path.empty()) return p;
  }
  return {};
}

}  // namespace

program_file look_at_program(const std::string& path) {
  elf_file file(path);
  if (!file.is_elf() || !file.is_executed()) return {path, program_file::linkage::other, false};
  const bool has_mpi = file.defines("PMPI_Init");  // programs and tools may define MPI_Init themselves
  if (!file.has_interpreter()) return {path, program_file::linkage::static_all, has_mpi};
  return {path, has_mpi ? program_file::linkage::static_mpi : program_file::linkage::dynamic, has_mpi};
}

program_file unreachable_program(const std::vector<std::string>& command, bool in_scripts) {
  return first_unreachable(command, !in_scripts, in_scripts ? 2 : 0);
}

std::string remedy_for(const program_file& p, const std::string& library) {
  const char* what = p.how == program_file::linkage::static_all
                         ? "is linked statically, so that no library can be loaded into it (LD_PRELOAD has no effect)"
                         : "has its MPI inside, linked statically, so that its MPI calls never come to a library";
  const std::string folder = fs::path(library).parent_path();
  return fmt::format(
      "{} {}: link it with the shared MPI, without -static, and with the library before it, as\n"
      "  mpicc -o program *.o -L{} -Wl,-rpath,{} -limbrex_sessions      # mpicc puts -lmpi after it\n"
      "then run this command with the new program",
      p.path, what, folder, folder);
}

}  // namespace mpi_check
