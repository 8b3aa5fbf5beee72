! A ring in Fortran, by mpif.h's successor: what the bindings call must be seen by the library.
program fortran_job
  use mpi
  implicit none
  integer :: ierr, rank, size, status(MPI_STATUS_SIZE)
  double precision :: mine(4), theirs(4), total(4)
  call MPI_Init(ierr)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierr)
  call MPI_Comm_size(MPI_COMM_WORLD, size, ierr)
  mine = rank + 1
  if (mod(rank, 2) == 0) then
    call MPI_Send(mine, 4, MPI_DOUBLE_PRECISION, mod(rank + 1, size), 7, MPI_COMM_WORLD, ierr)
    call MPI_Recv(theirs, 4, MPI_DOUBLE_PRECISION, mod(rank + size - 1, size), 7, MPI_COMM_WORLD, status, ierr)
  else
    call MPI_Recv(theirs, 4, MPI_DOUBLE_PRECISION, mod(rank + size - 1, size), 7, MPI_COMM_WORLD, status, ierr)
    call MPI_Send(mine, 4, MPI_DOUBLE_PRECISION, mod(rank + 1, size), 7, MPI_COMM_WORLD, ierr)
  end if
  call MPI_Allreduce(theirs, total, 4, MPI_DOUBLE_PRECISION, MPI_SUM, MPI_COMM_WORLD, ierr)
  if (rank == 0) print '(4F8.1)', total
  call MPI_Finalize(ierr)
end program
