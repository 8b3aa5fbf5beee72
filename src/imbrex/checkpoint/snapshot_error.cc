#include "imbrex/checkpoint/snapshot_error.h"

#include <fmt/format.h>
#include <sys/statvfs.h>

#include <cctype>
#include <cerrno>
#include <system_error>
#include <utility>

namespace imbrex {

namespace {

std::string message(const std::string& file, const std::string& complaint, const std::string& remedy) {
  const std::string what = file + ' ' + complaint;
  return remedy.empty() ? what : what + ": " + remedy;
}

std::string reason(int error_number) {
  std::string text = std::generic_category().message(error_number);
  if (!text.empty()) text.front() = static_cast<char>(std::tolower(static_cast<unsigned char>(text.front())));
  return text;
}

// What is left on the file system of a file that may not exist yet.
std::string room_for(const std::string& file) {
  struct statvfs facts{};
  const std::size_t slash = file.rfind('/');
  const std::string folder = slash == std::string::npos ? "." : file.substr(0, slash + 1);
  if (statvfs(folder.c_str(), &facts) != 0) return "";
  const double mib = static_cast<double>(facts.f_bavail) * static_cast<double>(facts.f_frsize) / (1 << 20);
  return fmt::format(", {:.1f} MiB free", mib);
}

}  // namespace

const char* to_string(snapshot_fault fault) {
  switch (fault) {
    case snapshot_fault::disk_full: return "disk full";
    case snapshot_fault::no_permission: return "no permission";
    case snapshot_fault::input_output: return "input/output error";
    case snapshot_fault::in_use: return "in use";
    case snapshot_fault::no_folder: return "no such folder";
    case snapshot_fault::not_a_folder: return "not a folder";
    case snapshot_fault::empty: return "empty folder";
    case snapshot_fault::missing_file: return "missing file";
    case snapshot_fault::torn: return "torn file";
    case snapshot_fault::other_version: return "other version";
    case snapshot_fault::other_byte_order: return "other byte order";
    case snapshot_fault::other_program: return "other program";
    case snapshot_fault::damaged_manifest: return "damaged manifest";
    case snapshot_fault::damaged_index: return "damaged index";
    case snapshot_fault::damaged_payload: return "damaged payload";
  }
  return "unknown";
}

snapshot_error::snapshot_error(snapshot_fault fault, std::string file, std::string complaint, std::string remedy)
    : checkpoint_error(message(file, complaint, remedy)),
      fault_(fault),
      file_(std::move(file)),
      complaint_(std::move(complaint)),
      remedy_(std::move(remedy)) {}

void throw_system_fault(int error_number, const std::string& file, const std::string& failed) {
  const std::string why = reason(error_number);
  switch (error_number) {
    case ENOSPC:
    case EDQUOT:
      throw snapshot_error(snapshot_fault::disk_full, file, fmt::format("{} ({}{})", failed, why, room_for(file)),
                           "make room there, or write checkpoints into a folder of another file system");
    case EFBIG:
      throw snapshot_error(snapshot_fault::disk_full, file, fmt::format("{} ({})", failed, why),
                           "raise this process's limit on the size of files (ulimit -f unlimited), or use more ranks");
    case EACCES:
    case EPERM:
      throw snapshot_error(snapshot_fault::no_permission, file, fmt::format("{} ({})", failed, why),
                           "give this user the right to it and to the folders above it, or name another folder");
    case EROFS:
      throw snapshot_error(snapshot_fault::no_permission, file, fmt::format("{} ({})", failed, why),
                           "name a folder of a file system that can be written");
    case ENOENT: throw snapshot_error(snapshot_fault::missing_file, file, "is not there");
    case ENOTDIR:
      throw snapshot_error(snapshot_fault::not_a_folder, file, fmt::format("{} ({})", failed, why), "name a folder");
    case EMFILE:
    case ENFILE:
      throw snapshot_error(snapshot_fault::input_output, file, fmt::format("{} ({})", failed, why),
                           "raise the limit on open files (ulimit -n)");
    default:
      throw snapshot_error(snapshot_fault::input_output, file, fmt::format("{} ({})", failed, why),
                           "see the system's log for the disk or the file server");
  }
}

}  // namespace imbrex
