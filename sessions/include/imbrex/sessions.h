/* Says to the MPI, once, where the buffers of a part of a program live (Moraru et al. 2021, Figure 2, completed).
 *
 * A session is opened with a pattern; what is sent and received over its communicator keeps to it: send buffers lie
 * where the pattern's first word says, receive buffers where its second does. It is opened by MPI_Session_init with the
 * info key mpi_communication_pattern where the MPI has sessions (MPICH 4, Open MPI 5), and by MPI_Comm_dup_with_info of
 * MPI_COMM_WORLD elsewhere (Open MPI 4), which therefore must be initialised before. Communicators made from that one
 * inherit the pattern.
 *
 * C: imbrex_session_open(), imbrex_session_close(). C++: imbrex::mpi_session, which closes itself.
 *
 * Only this header is needed: without libimbrex_sessions.so, or with an MPI that knows nothing of it, a pattern is a
 * word that nobody reads. With the library loaded in the mode elide, the driver is not asked about these buffers any
 * more; in the mode elide-verify a buffer that is elsewhere ends the program with a message. docs/sessions.md has the
 * rest. */
#ifndef IMBREX_SESSIONS_H
#define IMBREX_SESSIONS_H

#include <mpi.h>
#include <stdint.h>

#if MPI_VERSION >= 4 || (defined(OMPI_MAJOR_VERSION) && OMPI_MAJOR_VERSION >= 5)
#define IMBREX_SESSIONS_IN_MPI 1
#else
#define IMBREX_SESSIONS_IN_MPI 0
#endif

#define IMBREX_CPU_TO_CPU "MPI_CPU_TO_CPU"
#define IMBREX_CPU_TO_GPU "MPI_CPU_TO_GPU"
#define IMBREX_GPU_TO_CPU "MPI_GPU_TO_CPU"
#define IMBREX_GPU_TO_GPU "MPI_GPU_TO_GPU"

#ifdef __cplusplus
extern "C" {
#endif

/* Of libimbrex_sessions.so, where it is loaded; null elsewhere. */
const char* imbrex_sessions_api_declared(uintptr_t handle) __attribute__((weak));

/* An open session. `comm` reaches all processes; make others from it with MPI_Comm_split and its like. */
struct imbrex_session {
  MPI_Comm comm;
#if IMBREX_SESSIONS_IN_MPI
  MPI_Session session;
#endif
};

/* Collective over all processes, in the same order on all. `name` tells sessions of one program apart: different ones
 * for sessions opened at the same time. Gives an MPI error code. A pattern that does not exist declares nothing; the
 * library names it. */
static inline int imbrex_session_open(const char* pattern, const char* name, struct imbrex_session* opened) {
  MPI_Info info;
  int result = MPI_Info_create(&info);
  if (result != MPI_SUCCESS) return result;
  result = MPI_Info_set(info, "mpi_communication_pattern", pattern);
  opened->comm = MPI_COMM_NULL;
#if IMBREX_SESSIONS_IN_MPI
  MPI_Group group;
  if (result == MPI_SUCCESS) result = MPI_Session_init(info, MPI_ERRORS_ARE_FATAL, &opened->session);
  if (result == MPI_SUCCESS) result = MPI_Group_from_session_pset(opened->session, "mpi://WORLD", &group);
  if (result == MPI_SUCCESS) {
    result = MPI_Comm_create_from_group(group, name, MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &opened->comm);
    MPI_Group_free(&group);
  }
#else
  (void)name;
  if (result == MPI_SUCCESS) result = MPI_Comm_dup_with_info(MPI_COMM_WORLD, info, &opened->comm);
#endif
  MPI_Info_free(&info);
  return result;
}

/* Collective; frees `comm` too. */
static inline int imbrex_session_close(struct imbrex_session* closed) {
  int result = MPI_Comm_free(&closed->comm);
#if IMBREX_SESSIONS_IN_MPI
  if (result == MPI_SUCCESS) result = MPI_Session_finalize(&closed->session);
#endif
  return result;
}

/* The pattern that the library knows of a communicator: "MPI_CPU_TO_GPU"; "" where nothing is declared; "" also without
 * the library, or when it is idle. */
static inline const char* imbrex_session_declared(MPI_Comm comm) {
#if defined(OPEN_MPI)
  const uintptr_t handle = (uintptr_t)comm;
#else
  const uintptr_t handle = (uintptr_t)(uint32_t)comm;
#endif
  return imbrex_sessions_api_declared ? imbrex_sessions_api_declared(handle) : "";
}

#ifdef __cplusplus
}

#include <stdexcept>
#include <string>

namespace imbrex {

/// Where the send and the receive buffers of a session live.
enum class communication_pattern { cpu_to_cpu, cpu_to_gpu, gpu_to_cpu, gpu_to_gpu };

/// A session that is closed at the end of its life; which must come before MPI_Finalize. Collective as its parts are.
class mpi_session {
 public:
  /// Throws std::runtime_error when the MPI cannot open it.
  mpi_session(communication_pattern pattern, const std::string& name) {
    constexpr const char* words[] = {IMBREX_CPU_TO_CPU, IMBREX_CPU_TO_GPU, IMBREX_GPU_TO_CPU, IMBREX_GPU_TO_GPU};
    const char* word = words[static_cast<int>(pattern)];
    const int result = imbrex_session_open(word, name.c_str(), &session_);
    if (result != MPI_SUCCESS) {
      throw std::runtime_error("the MPI session " + name + " with pattern " + word + " could not be opened: error " +
                               std::to_string(result) + "; before MPI 4, call MPI_Init first");
    }
  }
  ~mpi_session() { imbrex_session_close(&session_); }
  mpi_session(const mpi_session&) = delete;
  mpi_session& operator=(const mpi_session&) = delete;

  /// Over all processes, with this session's pattern.
  MPI_Comm comm() const { return session_.comm; }

 private:
  imbrex_session session_;
};

}  // namespace imbrex
#endif

#endif
