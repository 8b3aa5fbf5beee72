"""Every routine of an mpi.h that takes a buffer has a wrapper. Usage: table_test.py MPI_H... --library LIB"""

import argparse
import re
import subprocess
import sys

# A buffer: void* or const void* by one of the names that the standard gives buffers.
BUFFER = re.compile(r"(const )?void ?\* ?(\w*buf\w*|origin_addr|result_addr|compare_addr|base|inoutbuf|sendbuf|recvbuf)\b")
# They take memory of which no data goes to other processes, or their own.
NOT_TRANSFERS = {
    "MPI_Buffer_attach", "MPI_Buffer_detach", "MPI_Comm_attach_buffer", "MPI_Comm_detach_buffer",
    "MPI_Session_attach_buffer", "MPI_Session_detach_buffer", "MPI_Free_mem", "MPI_Alloc_mem", "MPI_Win_detach",
    "MPI_Win_shared_query", "MPI_Win_allocate", "MPI_Win_allocate_shared", "MPI_Grequest_start", "MPI_Get_address",
    "MPI_Aint_add", "MPI_T_cvar_read", "MPI_T_cvar_write", "MPI_T_pvar_read", "MPI_T_pvar_write", "MPI_T_pvar_readreset",
    "MPI_T_event_copy", "MPI_T_event_read", "MPI_Register_datarep",
    # The ends of split file accesses: they carry the buffer that their begin was given.
    "MPI_File_read_all_end", "MPI_File_read_at_all_end", "MPI_File_read_ordered_end", "MPI_File_write_all_end",
    "MPI_File_write_at_all_end", "MPI_File_write_ordered_end",
}


def declared(text):
    text = re.sub(r"/\*.*?\*/|//[^\n]*", " ", text, flags=re.DOTALL)
    text = re.sub(r"\s+", " ", text)
    for match in re.finditer(r"\bint (MPIX?_\w+) ?\(([^;{]*?)\)[^;,(]*;|\bint (MPIX?_\w+) ?\(([^;{]*?)\) ?MPICH_ATTR", text):
        yield match.group(1) or match.group(3), match.group(2) or match.group(4)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("headers", nargs="+")
    parser.add_argument("--library", required=True)
    args = parser.parse_args()
    symbols = subprocess.run(["nm", "-D", "--defined-only", args.library], capture_output=True, text=True, check=True)
    have = {line.split()[-1] for line in symbols.stdout.splitlines()}
    missing, found = set(), 0
    for header in args.headers:
        with open(header, encoding="utf-8", errors="replace") as text:
            for name, parameters in declared(text.read()):
                base = re.sub(r"_c$", "", name)
                if not BUFFER.search(parameters) or base in NOT_TRANSFERS or not name.startswith("MPI_"):
                    continue
                found += 1
                if name not in have:
                    missing.add(f"{name}({parameters[:60]}")
    for line in sorted(missing):
        print(f"not wrapped: {line}")
    print(f"{found} routines with buffers, {len(missing)} of them not wrapped")
    return 1 if missing or found < 100 else 0


if __name__ == "__main__":
    sys.exit(main())
