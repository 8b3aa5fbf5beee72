#include "imbrex/comm/mpi/mpi_job.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <climits>
#include <cstdlib>
#include <iterator>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "imbrex/base/error.h"
#include "imbrex/base/log.h"
#include "imbrex/comm/mpi/mpi_recovery.h"
#include "imbrex/comm/mpi/mpi_transport.h"
#include "imbrex/comm/rank_lost.h"

namespace imbrex {

void throw_mpi_error(int code, const char* call, rank_id me, rank_id peer) {
  char text[MPI_MAX_ERROR_STRING] = {};
  int length = 0;
  if (MPI_Error_string(code, text, &length) != MPI_SUCCESS) length = 0;
  if (is_lost_rank(code)) {
    throw rank_lost(fmt::format("{} failed on rank {}: a rank is lost ({})", call, me,
                                std::string(text, static_cast<std::size_t>(length))));
  }
  const std::string other = peer < 0 ? std::string() : fmt::format(" with rank {}", peer);
  throw comm_error(fmt::format("{}{} failed on rank {}: {} (code {})", call, other, me,
                               std::string(text, static_cast<std::size_t>(length)), code));
}

int launched_ranks() {
  for (const char* name : {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "MV2_COMM_WORLD_SIZE", "SLURM_STEP_NUM_TASKS"}) {
    const char* value = std::getenv(name);
    if (value != nullptr && std::atoi(value) > 0) return std::atoi(value);
  }
  return 0;
}

bool launcher_present() {
  if (launched_ranks() > 0) return true;
  for (const char* name : {"PMIX_RANK", "PMI_RANK", "MPI_LOCALNRANKS", "PALS_RANKID"}) {
    if (std::getenv(name) != nullptr) return true;
  }
  return false;
}

namespace {

/// By whatever name, a launcher says by what its processes find each other.
bool process_manager_present() {
  constexpr std::string_view prefixes[] = {"PMI", "PALS_", "OMPI_COMM_WORLD_", "MPI_LOCALNRANKS", "MV2_COMM_WORLD_"};
  for (char** variable = environ; *variable != nullptr; ++variable) {
    const auto begins = [text = std::string_view(*variable)](std::string_view prefix) {
      return text.starts_with(prefix);
    };
    if (std::any_of(std::begin(prefixes), std::end(prefixes), begins)) return true;
  }
  return false;
}

/// Said before mpi is initialised: Open MPI ends the process there, and speaks of how it was built.
void warn_of_missing_process_manager() {
  const char* tasks = std::getenv("SLURM_STEP_NUM_TASKS");
  const char* task = std::getenv("SLURM_PROCID");
  if (tasks == nullptr || std::atoi(tasks) < 2 || process_manager_present()) return;
  if (task != nullptr && std::atoi(task) > 0) return;
  log_warning(
      fmt::format("srun started {} processes without a PMI, by which those of mpi find each other: use srun --mpi=pmix "
                  "(or pmi2; srun --mpi=list names what there is), or mpirun within the allocation",
                  tasks));
}

void need_serialized(int provided, const char* who_decided, const char* remedy) {
  if (provided >= MPI_THREAD_SERIALIZED) return;
  throw comm_error(fmt::format("mpi was initialised {} with MPI_THREAD_{}, but imbrex needs MPI_THREAD_SERIALIZED: {}",
                               who_decided, provided == MPI_THREAD_SINGLE ? "SINGLE" : "FUNNELED", remedy));
}

/// MPICH 4.0 crashes when a session is opened after another was closed.
bool session_closed = false;

// "Open MPI v4.1.4" from "Open MPI v4.1.4, package: ...", "MPICH 4.0.2" from "MPICH Version:\t4.0.2\n...".
std::string library_name() {
  char text[MPI_MAX_LIBRARY_VERSION_STRING] = {};
  int length = 0;
  mpi_check(MPI_Get_library_version(text, &length), "MPI_Get_library_version", 0);
  std::string name(text, static_cast<std::size_t>(length));
  name = name.substr(0, name.find_first_of(",\n"));
  if (const auto at = name.find(" Version:"); at != std::string::npos) name.erase(at, 9);
  for (char& c : name) c = c == '\t' ? ' ' : c;
  return name;
}

using declaration = std::vector<std::pair<const char*, const char*>>;

/// Buffers of the host's memory on both sides (Moraru et al. 2021, section 4; MPI 4.1, section 11.4.3).
const declaration host_only = {{"mpi_communication_pattern", "MPI_CPU_TO_CPU"},
                               {"mpi_assert_memory_alloc_kinds", "system,mpi,cuda:host"}};

template <class Use>
void with_info(const declaration& says, rank_id me, Use use) {
  MPI_Info info = MPI_INFO_NULL;
  mpi_check(MPI_Info_create(&info), "MPI_Info_create", me);
  for (const auto& [key, value] : says) mpi_check(MPI_Info_set(info, key, value), "MPI_Info_set", me);
  use(info);
  mpi_check(MPI_Info_free(&info), "MPI_Info_free", me);
}

void declare(MPI_Comm comm, const declaration& says, rank_id me) {
  with_info(says, me, [&](MPI_Info info) { mpi_check(MPI_Comm_set_info(comm, info), "MPI_Comm_set_info", me); });
}

MPI_Comm declared_dup(MPI_Comm of, const declaration& says, rank_id me) {
  MPI_Comm made = MPI_COMM_NULL;
  with_info(says, me,
            [&](MPI_Info info) { mpi_check(MPI_Comm_dup_with_info(of, info, &made), "MPI_Comm_dup_with_info", me); });
  return made;
}

int size_of(MPI_Comm comm) {
  int size = 0;
  mpi_check(MPI_Comm_size(comm, &size), "MPI_Comm_size", 0);
  return size;
}

constexpr const char* other_library = "use an MPI library built with thread support";

}  // namespace

mpi_job::mpi_job(int num_spares) {
  int initialised = 0;
  int finalised = 0;
  mpi_check(MPI_Initialized(&initialised), "MPI_Initialized", 0);
  mpi_check(MPI_Finalized(&finalised), "MPI_Finalized", 0);
  if (finalised != 0 || (session_closed && initialised == 0)) {
    throw comm_error(
        "mpi was already finalised in this process: it can take part in one mpi job only, unless the "
        "program initialises and finalises mpi itself");
  }
  if (initialised == 0) warn_of_missing_process_manager();
  try {
    if (initialised != 0 || !open_session()) open_world();
    check_ranks_are_started();
    if (num_spares > 0) set_apart(num_spares);
    if (is_spare()) return;
    ask_about_ranks();
    ask_about_host();
  } catch (...) {
    close();
    throw;
  }
}

// Another rank may be lost meanwhile: then all who are left begin again.
mpi_job::mpi_job(mpi_job& before) {
  for (bool all_are_here = false; !all_are_here;) {
    MPI_Comm left = mpi_shrink(before.everyone(), before.rank_);
    (before.everyone_ != MPI_COMM_NULL ? everyone_ : control_) = left;
    bool are_here = true;
    try {
      if (everyone_ != MPI_COMM_NULL) fill_places(before);
      if (!is_spare()) {
        ask_about_ranks();
        ask_about_host_by_name();
      }
    } catch (const rank_lost&) {
      are_here = false;
      revoke();
      mpi_revoke(left);
    }
    all_are_here = mpi_agree(left, are_here ? 1 : 0) != 0;
    if (!all_are_here) free_communicators();
  }
  const bool all_are_left = size_of(everyone()) == size_of(before.everyone());
  before.free_communicators();
  // Open MPI 5.0's MPI_Finalize hangs at times when ranks have been lost: it is left out then. The system takes back
  // what a process has, and the launcher knows that ranks may be lost.
  must_finalise_ = std::exchange(before.must_finalise_, false) && all_are_left;
  uses_session_ = std::exchange(before.uses_session_, false);
#if MPI_VERSION >= 4
  session_ = std::exchange(before.session_, MPI_SESSION_NULL);
  if (!all_are_left) session_ = MPI_SESSION_NULL;
#endif
}

mpi_job::~mpi_job() { close(); }

void mpi_job::revoke() {
  for (const MPI_Comm comm : {messages_, pieces_, host_data_, device_data_, control_}) {
    if (comm != MPI_COMM_NULL) mpi_revoke(comm);
  }
}

void mpi_job::free_communicators() {
  for (MPI_Comm* comm : {&messages_, &pieces_, &host_data_, &device_data_, &control_, &everyone_}) {
    if (*comm != MPI_COMM_NULL) MPI_Comm_free(comm);
  }
}

#if MPI_VERSION >= 4
// A session is independent of MPI_Init; where any step of it fails, the ordinary way remains.
bool mpi_job::open_session() {
  // MPICH 4.0 crashes in MPI_Test when a session has one rank: it progresses a network that it has not opened.
  if (launched_ranks() < 2) return false;
  MPI_Info wishes = MPI_INFO_NULL;
  if (MPI_Info_create(&wishes) != MPI_SUCCESS) return false;
  MPI_Info_set(wishes, "thread_level", "MPI_THREAD_SERIALIZED");
  const int opened = MPI_Session_init(wishes, MPI_ERRORS_RETURN, &session_);
  MPI_Info_free(&wishes);
  if (opened != MPI_SUCCESS) {
    session_ = MPI_SESSION_NULL;
    return false;
  }
  std::string level;
  MPI_Info granted = MPI_INFO_NULL;
  if (MPI_Session_get_info(session_, &granted) == MPI_SUCCESS) {
    char value[64] = {};
    int length = sizeof value;
    int found = 0;
    MPI_Info_get_string(granted, "thread_level", &length, value, &found);
    if (found != 0) level = value;
    MPI_Info_free(&granted);
  }
  MPI_Group world = MPI_GROUP_NULL;
  bool ready = (level == "MPI_THREAD_SERIALIZED" || level == "MPI_THREAD_MULTIPLE") &&
               MPI_Group_from_session_pset(session_, "mpi://WORLD", &world) == MPI_SUCCESS;
  if (ready) {
    ready = MPI_Comm_create_from_group(world, "imbrex", MPI_INFO_NULL, MPI_ERRORS_RETURN, &control_) == MPI_SUCCESS;
  }
  if (world != MPI_GROUP_NULL) MPI_Group_free(&world);
  if (!ready) {
    control_ = MPI_COMM_NULL;
    MPI_Session_finalize(&session_);
  }
  uses_session_ = ready;
  return ready;
}
#else
bool mpi_job::open_session() { return false; }
#endif

void mpi_job::open_world() {
  int initialised = 0;
  mpi_check(MPI_Initialized(&initialised), "MPI_Initialized", 0);
  int provided = MPI_THREAD_SINGLE;
  if (initialised != 0) {
    mpi_check(MPI_Query_thread(&provided), "MPI_Query_thread", 0);
    need_serialized(provided, "by the program",
                    "call MPI_Init_thread with that level, or leave the initialisation to imbrex");
  } else {
    mpi_check(MPI_Init_thread(nullptr, nullptr, MPI_THREAD_SERIALIZED, &provided), "MPI_Init_thread", 0);
    must_finalise_ = true;
    need_serialized(provided, "by imbrex", other_library);
  }
  mpi_check(MPI_Comm_dup(MPI_COMM_WORLD, &control_), "MPI_Comm_dup", 0);
}

void mpi_job::set_apart(int num_spares) {
  everyone_ = std::exchange(control_, MPI_COMM_NULL);
  mpi_check(MPI_Comm_set_errhandler(everyone_, MPI_ERRORS_RETURN), "MPI_Comm_set_errhandler", 0);
  int place = 0;
  mpi_check(MPI_Comm_rank(everyone_, &place), "MPI_Comm_rank", 0);
  num_ranks_ = size_of(everyone_) - num_spares;
  if (num_ranks_ < 1) {
    throw config_error(fmt::format("--imbrex-spare-ranks={}: there are {} processes, of which one at least is to work",
                                   num_spares, size_of(everyone_)));
  }
  const bool works = place < num_ranks_;
  if (!works) rank_ = place;
  mpi_check(MPI_Comm_split(everyone_, works ? 0 : MPI_UNDEFINED, place, &control_), "MPI_Comm_split", place);
}

// The spare process takes the place of the rank that is lost, so that all others keep what they have.
void mpi_job::fill_places(const mpi_job& before) {
  mpi_check(MPI_Comm_set_errhandler(everyone_, MPI_ERRORS_RETURN), "MPI_Comm_set_errhandler", before.rank_);
  constexpr int spare = -1;
  const int mine = before.is_spare() ? spare : before.rank_;
  std::vector<int> places(static_cast<std::size_t>(size_of(everyone_)), spare);
  mpi_check(MPI_Allgather(&mine, 1, MPI_INT, places.data(), 1, MPI_INT, everyone_), "MPI_Allgather", before.rank_);
  for (int place = 0; place < before.num_ranks_; ++place) {
    if (std::ranges::find(places, place) != places.end()) continue;
    if (const auto next = std::ranges::find(places, spare); next != places.end()) *next = place;
  }
  num_ranks_ = static_cast<int>(std::ranges::count_if(places, [](int place) { return place != spare; }));
  int who = 0;
  mpi_check(MPI_Comm_rank(everyone_, &who), "MPI_Comm_rank", before.rank_);
  const int place = places[static_cast<std::size_t>(who)];
  if (place == spare) rank_ = who;
  mpi_check(MPI_Comm_split(everyone_, place == spare ? MPI_UNDEFINED : 0, std::max(place, 0), &control_),
            "MPI_Comm_split", before.rank_);
}

void mpi_job::ask_about_ranks() {
  mpi_check(MPI_Comm_set_errhandler(control_, MPI_ERRORS_RETURN), "MPI_Comm_set_errhandler", 0);
  mpi_check(MPI_Comm_rank(control_, &rank_), "MPI_Comm_rank", 0);
  mpi_check(MPI_Comm_size(control_, &num_ranks_), "MPI_Comm_size", rank_);
  // Before anything is declared: it would hold for what is made of this one too.
  device_data_ = declared_dup(control_, {{"mpi_assert_memory_alloc_kinds", "system,mpi,cuda:device,cuda:host"}}, rank_);
  declare(control_, host_only, rank_);
  messages_ = declared_dup(control_, host_only, rank_);
  pieces_ = declared_dup(control_, host_only, rank_);
  host_data_ = declared_dup(control_, host_only, rank_);

  void* value = nullptr;
  int found = 0;
  mpi_check(MPI_Comm_get_attr(pieces_, MPI_TAG_UB, &value, &found), "MPI_Comm_get_attr", rank_);
  if (found != 0) largest_tag_ = *static_cast<int*>(value);
}

void mpi_job::ask_about_host() {
  MPI_Comm host = MPI_COMM_NULL;
  mpi_check(MPI_Comm_split_type(control_, MPI_COMM_TYPE_SHARED, rank_, MPI_INFO_NULL, &host), "MPI_Comm_split_type",
            rank_);
  mpi_check(MPI_Comm_rank(host, &local_rank_), "MPI_Comm_rank", rank_);
  mpi_check(MPI_Comm_size(host, &num_local_ranks_), "MPI_Comm_size", rank_);
  mpi_check(MPI_Comm_free(&host), "MPI_Comm_free", rank_);
}

// Makes no communicator: Open MPI 5.0 crashes when a rank is lost while it makes one.
void mpi_job::ask_about_host_by_name() {
  char name[MPI_MAX_PROCESSOR_NAME] = {};
  int length = 0;
  mpi_check(MPI_Get_processor_name(name, &length), "MPI_Get_processor_name", rank_);
  const auto* const bytes = reinterpret_cast<const std::byte*>(name);
  const std::vector<std::byte> mine(bytes, bytes + length);
  local_rank_ = num_local_ranks_ = 0;
  rank_id r = 0;
  for (const std::vector<std::byte>& other : all_gather(mine)) {
    if (other == mine) {
      ++num_local_ranks_;
      local_rank_ += r < rank_ ? 1 : 0;
    }
    ++r;
  }
}

void mpi_job::check_ranks_are_started() const {
  if (size_of(control_) > 1 || launched_ranks() < 2) return;
  throw comm_error(
      fmt::format("the launcher started {} processes, but mpi sees one rank only: start them with the "
                  "mpirun or mpiexec of {} (with srun: --mpi=pmix or --mpi=pmi2)",
                  launched_ranks(), library_name()));
}

// Also after errors, hence without checks.
void mpi_job::close() {
  if (abandoned_) return;
  free_communicators();
#if MPI_VERSION >= 4
  if (session_ != MPI_SESSION_NULL) {
    MPI_Session_finalize(&session_);
    session_closed = true;
  }
#endif
  if (must_finalise_) MPI_Finalize();
  must_finalise_ = false;
}

std::vector<std::vector<std::byte>> mpi_job::all_gather(const std::vector<std::byte>& mine) const {
  if (abandoned_) throw comm_error(fmt::format("rank {} gave up on the other ranks after a failure", rank_));
  const std::uint64_t my_size = mine.size();
  std::vector<std::uint64_t> sizes(static_cast<std::size_t>(num_ranks_));
  mpi_check(MPI_Allgather(&my_size, 1, MPI_UINT64_T, sizes.data(), 1, MPI_UINT64_T, control_), "MPI_Allgather", rank_);
  std::vector<int> counts(sizes.size());
  std::vector<int> starts(sizes.size());
  std::uint64_t total = 0;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    starts[i] = static_cast<int>(total);
    counts[i] = static_cast<int>(sizes[i]);
    if (sizes[i] > INT_MAX - total) {
      throw comm_error(
          fmt::format("all_gather of more than 2 GiB in all (rank {} alone gives {} bytes): send messages "
                      "instead",
                      i, sizes[i]));
    }
    total += sizes[i];
  }
  std::vector<std::byte> all(total);
  mpi_check(MPI_Allgatherv(mine.data(), static_cast<int>(my_size), MPI_BYTE, all.data(), counts.data(), starts.data(),
                           MPI_BYTE, control_),
            "MPI_Allgatherv", rank_);
  std::vector<std::vector<std::byte>> parts(sizes.size());
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    parts[i].assign(all.begin() + starts[i], all.begin() + starts[i] + counts[i]);
  }
  return parts;
}

// Rank 0 asks one after the other, so that what they have does not come to it at once.
void mpi_job::collect(std::vector<std::byte> mine, const std::function<void(std::vector<std::byte>)>& take) const {
  if (abandoned_) throw comm_error(fmt::format("rank {} gave up on the other ranks after a failure", rank_));
  constexpr int tag = 1;
  constexpr std::uint64_t at_once = std::uint64_t{1} << 28;
  const auto in_pieces = [&](std::vector<std::byte>& bytes, auto move) {
    for (std::uint64_t done = 0; done < bytes.size(); done += at_once)
      move(bytes.data() + done, static_cast<int>(std::min<std::uint64_t>(at_once, bytes.size() - done)));
  };
  std::uint64_t size = mine.size();
  if (rank_ != 0) {
    mpi_check(MPI_Recv(nullptr, 0, MPI_BYTE, 0, tag, control_, MPI_STATUS_IGNORE), "MPI_Recv", rank_);
    mpi_check(MPI_Send(&size, 1, MPI_UINT64_T, 0, tag, control_), "MPI_Send", rank_);
    in_pieces(mine, [&](const std::byte* at, int bytes) {
      mpi_check(MPI_Send(at, bytes, MPI_BYTE, 0, tag, control_), "MPI_Send", rank_);
    });
    return;
  }
  take(std::move(mine));
  for (int r = 1; r < num_ranks_; ++r) {
    mpi_check(MPI_Send(nullptr, 0, MPI_BYTE, r, tag, control_), "MPI_Send", rank_);
    mpi_check(MPI_Recv(&size, 1, MPI_UINT64_T, r, tag, control_, MPI_STATUS_IGNORE), "MPI_Recv", rank_);
    std::vector<std::byte> theirs(size);
    in_pieces(theirs, [&](std::byte* at, int bytes) {
      mpi_check(MPI_Recv(at, bytes, MPI_BYTE, r, tag, control_, MPI_STATUS_IGNORE), "MPI_Recv", rank_);
    });
    take(std::move(theirs));
  }
}

std::string mpi_library_description() {
  int version = MPI_VERSION;
  int subversion = MPI_SUBVERSION;
  mpi_check(MPI_Get_version(&version, &subversion), "MPI_Get_version", 0);
  return fmt::format("{}, MPI standard {}.{}, {}, {}", library_name(), version, subversion,
                     MPI_VERSION >= 4 ? "with sessions" : "without sessions",
                     mpi_has_recovery() ? "with ULFM" : "without ULFM");
}

}  // namespace imbrex
