! One source for mpif.h (BINDING_MPIF), the module mpi (BINDING_MPI) and the module mpi_f08 (BINDING_F08): the macros
! give a handle and a status their types there.
#ifdef BINDING_F08
#define HANDLE(kind) type(kind)
#define STATUS type(MPI_Status)
#define STATUSES(name, n) type(MPI_Status) :: name(n)
#define SOURCE_OF(s) s%MPI_SOURCE
#define TAG_OF(s) s%MPI_TAG
#define MODULE_OR_HEADER use mpi_f08
#define HEADER
#else
#define HANDLE(kind) integer
#define STATUS integer, dimension(MPI_STATUS_SIZE)
#define STATUSES(name, n) integer :: name(MPI_STATUS_SIZE, n)
#define SOURCE_OF(s) s(MPI_SOURCE)
#define TAG_OF(s) s(MPI_TAG)
#ifdef BINDING_MPI
#define MODULE_OR_HEADER use mpi
#define HEADER
#else
#define MODULE_OR_HEADER
#define HEADER include 'mpif.h'
#endif
#endif
#define WORLD MPI_COMM_WORLD
#define CHECK(ok) call expect(ok, __LINE__)
#define SCOPE use shared
