#include "imbrex/checkpoint/snapshot_reader.h"

#include <fmt/format.h>

#include <utility>

#include "imbrex/base/error.h"
#include "imbrex/base/memory/aligned_bytes.h"
#include "imbrex/base/memory/resize_unfilled.h"
#include "imbrex/checkpoint/checkpoint_folder.h"

namespace imbrex {

namespace {

// Of a limit that is often 1024 for a process.
constexpr std::size_t most_open_files = 64;
constexpr std::size_t checking_bytes = std::size_t{1} << 20;

std::string without_end_slash(std::string folder) {
  while (folder.size() > 1 && folder.back() == '/') folder.pop_back();
  return folder;
}

}  // namespace

// Whoever meets an error at the outermost call looks for what to do instead.
template <class Call>
decltype(auto) snapshot_reader::explained(Call call) {
  try {
    return call();
  } catch (const snapshot_error& e) {
    throw with_remedy(e, folder_, program_);
  }
}

snapshot_reader::snapshot_reader(std::string folder, const snapshot_checks& checks)
    : folder_(without_end_slash(std::move(folder))), program_(checks.program) {
  explained([&] { open(checks); });
}

std::optional<snapshot_error> snapshot_reader::complaint_about(const std::string& folder,
                                                               const snapshot_checks& checks) {
  snapshot_reader reader;
  reader.folder_ = without_end_slash(folder);
  reader.program_ = checks.program;
  try {
    reader.open(checks);
  } catch (const snapshot_error& e) {
    return e;
  }
  return std::nullopt;
}

void snapshot_reader::open(const snapshot_checks& checks) {
  check_is_checkpoint(folder_);
  about_ = read_manifest(folder_);
  check_program();
  files_.reserve(about_.files.size());
  for (const rank_file_facts& f : about_.files) files_.emplace_back(folder_, f);
  if (checks.depth == check_depth::sizes) return;
  for (rank_file& f : files_) {
    f.records();
    f.close();
  }
  if (checks.depth == check_depth::payloads) check_all_payloads();
}

void snapshot_reader::check_program() const {
  if (!program_ || *program_ == about_.facts.program) return;
  throw snapshot_error(snapshot_fault::other_program, folder_,
                       fmt::format("was written by another program (its digest is {:016x}, this one's {:016x})",
                                   about_.facts.program, *program_),
                       "restart with the program that wrote it, or name another folder for this program's checkpoints");
}

std::span<const record_view> snapshot_reader::records(int file) {
  return explained([&] {
    rank_file& f = files_.at(static_cast<std::size_t>(file));
    const bool was_open = f.is_open();
    const auto found = f.records();
    if (!was_open) f.close();
    return found;
  });
}

std::vector<std::byte> snapshot_reader::read(const record_view& record) {
  std::vector<std::byte> payload;
  detail::resize_unfilled(payload, record.bytes);
  read(record, payload);
  return payload;
}

void snapshot_reader::read(const record_view& record, std::span<std::byte> to) {
  explained([&] { file_of(record).read(record, to); });
}

void snapshot_reader::read_in_pieces(const record_view& record, std::span<std::byte> buffer,
                                     const payload_taker& take) {
  explained([&] { file_of(record).read_in_pieces(record, buffer, take); });
}

std::string snapshot_reader::name_of(const record_view& record) const {
  return files_.at(static_cast<std::size_t>(record.file)).path();
}

void snapshot_reader::check_payloads() {
  explained([this] { check_all_payloads(); });
}

void snapshot_reader::check_all_payloads() {
  aligned_bytes buffer(checking_bytes);
  for (rank_file& f : files_) {
    const bool was_open = f.is_open();
    for (const record_view& r : f.records()) f.read_in_pieces(r, buffer, [](std::span<const std::byte>) {});
    if (!was_open) f.close();
  }
}

rank_file& snapshot_reader::file_of(const record_view& record) {
  const auto i = static_cast<std::size_t>(record.file);
  rank_file& file = files_.at(i);
  if (file.is_open()) return file;
  if (open_files_.size() == most_open_files) {
    for (const std::size_t other : open_files_) files_[other].close();
    open_files_.clear();
  }
  open_files_.push_back(i);
  return file;
}

}  // namespace imbrex
