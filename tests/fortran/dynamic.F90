! Other processes, from Fortran: spawn, spawn_multiple, ports, the name service, accept and connect, join, disconnect.
! The spawned processes run this program too, and recognise that by their parent. Needs two ranks. With the argument
! "multiple" it does spawn_multiple and no more: now and then Open MPI 4.1.4 hangs as it starts processes when it has
! started several at once before.
#include "binding.inc"

module shared
  MODULE_OR_HEADER
  use, intrinsic :: iso_c_binding
  implicit none
  HEADER
  integer :: me, np, ierr

  ! The sockets that MPI_COMM_JOIN takes.
  interface
    integer(c_int) function c_socket(domain, kind, protocol) bind(c, name='socket')
      import c_int
      integer(c_int), value :: domain, kind, protocol
    end function
    integer(c_int) function c_bind(socket, address, length) bind(c, name='bind')
      import c_int, c_char
      integer(c_int), value :: socket, length
      character(kind=c_char), intent(in) :: address(*)
    end function
    integer(c_int) function c_listen(socket, backlog) bind(c, name='listen')
      import c_int
      integer(c_int), value :: socket, backlog
    end function
    integer(c_int) function c_accept(socket, address, length) bind(c, name='accept')
      import c_int, c_ptr
      integer(c_int), value :: socket
      type(c_ptr), value :: address, length
    end function
    integer(c_int) function c_connect(socket, address, length) bind(c, name='connect')
      import c_int, c_char
      integer(c_int), value :: socket, length
      character(kind=c_char), intent(in) :: address(*)
    end function
    integer(c_int) function c_getpid() bind(c, name='getpid')
      import c_int
    end function
    integer(c_int) function c_close(file) bind(c, name='close')
      import c_int
      integer(c_int), value :: file
    end function
  end interface

contains
  subroutine expect(ok, line)
    logical, intent(in) :: ok
    integer, intent(in) :: line
    if (ok) return
    write (0, '(a,i0,a,i0)') 'FAIL dynamic line ', line, ' rank ', me
    call MPI_ABORT(WORLD, 1, ierr)
  end subroutine

  ! Both sides of an intercommunicator: messages, a collective, the merged communicator.
  subroutine talk(inter, high, others)
    HANDLE(MPI_Comm) :: inter, whole
    logical, intent(in) :: high
    integer, intent(in) :: others
    STATUS :: s
    integer :: rank, all, sum, mine, from, i
    call MPI_COMM_REMOTE_SIZE(inter, all, ierr)
    CHECK(all == others)
    call MPI_COMM_RANK(inter, rank, ierr)
    if (rank == 0) then
      mine = merge(7, 8, high)
      call MPI_SENDRECV(mine, 1, MPI_INTEGER, 0, 3, from, 1, MPI_INTEGER, 0, 3, inter, s, ierr)
      CHECK(from == 15 - mine .and. SOURCE_OF(s) == 0 .and. TAG_OF(s) == 3)
    end if
    mine = 1
    call MPI_ALLREDUCE(mine, sum, 1, MPI_INTEGER, MPI_SUM, inter, ierr)
    CHECK(sum == others)
    call MPI_INTERCOMM_MERGE(inter, high, whole, ierr)
    call MPI_COMM_SIZE(whole, all, ierr)
    call MPI_COMM_RANK(whole, rank, ierr)
    call MPI_ALLREDUCE(rank, sum, 1, MPI_INTEGER, MPI_SUM, whole, ierr)
    CHECK(sum == sum_to(all - 1))
    mine = rank
    call MPI_SENDRECV(mine, 1, MPI_INTEGER, mod(rank + 1, all), 4, from, 1, MPI_INTEGER, mod(rank + all - 1, all), 4, &
                      whole, s, ierr)
    CHECK(from == mod(rank + all - 1, all))
    do i = 0, all - 1
      call MPI_BCAST(from, 1, MPI_INTEGER, i, whole, ierr)
    end do
    call MPI_COMM_FREE(whole, ierr)
  end subroutine

  integer function sum_to(n)
    integer, intent(in) :: n
    sum_to = n * (n + 1) / 2
  end function

  subroutine around_the_world
    integer :: from
    call MPI_SENDRECV(me, 1, MPI_INTEGER, mod(me + 1, np), 5, from, 1, MPI_INTEGER, mod(me + np - 1, np), 5, WORLD, &
                      MPI_STATUS_IGNORE, ierr)
    CHECK(from == mod(me + np - 1, np))
  end subroutine
end module

program main
  use shared
  implicit none
  HANDLE(MPI_Comm) :: parent
  character(8) :: part
  call MPI_INIT(ierr)
  call MPI_COMM_RANK(WORLD, me, ierr)
  call MPI_COMM_SIZE(WORLD, np, ierr)
  call MPI_COMM_GET_PARENT(parent, ierr)
  if (parent /= MPI_COMM_NULL) then
    call child
  else
    CHECK(np == 2)
    call get_command_argument(1, part)
    if (part == 'multiple') then
      call spawn_multiple
    else
      call spawn
      call around_the_world
      call ports
      call join
    end if
    call around_the_world
    call MPI_BARRIER(WORLD, ierr)
    if (me == 0) print '(a)', 'ok dynamic'
  end if
  call MPI_FINALIZE(ierr)

contains
  ! The first argument is its role; without one the whole world has spawned it.
  subroutine child
    character(8) :: what
    integer :: length
    call get_command_argument(1, what, length)
    select case (what)
    case (' ')
      CHECK(np == 1)
    case ('single')
      CHECK(np == 1 .and. command_argument_count() == 2)
    case ('first')
      CHECK(np == 2 .and. me == 0)
    case ('second')
      CHECK(np == 2 .and. me == 1)
    case default
      CHECK(.false.)
    end select
    call talk(parent, .true., merge(2, 1, length == 0))
    call MPI_COMM_DISCONNECT(parent, ierr)
    CHECK(parent == MPI_COMM_NULL)
  end subroutine

  subroutine spawn
    HANDLE(MPI_Comm) :: inter
    character(512) :: self
    character(16) :: arguments(3)
    integer :: codes(1)
    call get_command_argument(0, self)
    if (me == 0) then
      arguments = [character(16) :: 'single', 'more', ' ']
      codes = -1
      call MPI_COMM_SPAWN(self, arguments, 1, MPI_INFO_NULL, 0, MPI_COMM_SELF, inter, codes, ierr)
      CHECK(ierr == MPI_SUCCESS .and. all(codes == MPI_SUCCESS))
      call talk(inter, .false., 1)
      call MPI_COMM_DISCONNECT(inter, ierr)
      CHECK(inter == MPI_COMM_NULL)
    end if
    call around_the_world
    call MPI_COMM_SPAWN(self, MPI_ARGV_NULL, 1, MPI_INFO_NULL, 1, WORLD, inter, MPI_ERRCODES_IGNORE, ierr)
    call talk(inter, .false., 1)
    call MPI_COMM_DISCONNECT(inter, ierr)
  end subroutine

  subroutine spawn_multiple
    HANDLE(MPI_Comm) :: inter
    HANDLE(MPI_Info) :: infos(2)
    character(512) :: commands(2)
    character(16) :: arguments(2, 2)
    integer :: codes(2), numbers(2)
    call get_command_argument(0, commands(1))
    commands(2) = commands(1)
    arguments(:, 1) = [character(16) :: 'first', 'second']
    arguments(:, 2) = ' '
    numbers = 1
    infos = MPI_INFO_NULL
    if (me == 0) then
      codes = -1
      call MPI_COMM_SPAWN_MULTIPLE(2, commands, arguments, numbers, infos, 0, MPI_COMM_SELF, inter, codes, ierr)
      CHECK(ierr == MPI_SUCCESS .and. all(codes == MPI_SUCCESS))
      call talk(inter, .false., 2)
      call MPI_COMM_DISCONNECT(inter, ierr)
    end if
  end subroutine

  ! Rank 0 publishes a port and accepts; rank 1 looks it up and connects.
  subroutine ports
    HANDLE(MPI_Comm) :: inter
    character(MPI_MAX_PORT_NAME) :: port, found
    character(32) :: service
    write (service, '(a,i0)') 'offramp-test-', c_getpid()
    call MPI_BCAST(service, len(service), MPI_CHARACTER, 0, WORLD, ierr)
    if (me == 0) then
      call MPI_OPEN_PORT(MPI_INFO_NULL, port, ierr)
      call MPI_PUBLISH_NAME(service, MPI_INFO_NULL, port, ierr)
      CHECK(ierr == MPI_SUCCESS)
    end if
    call MPI_BARRIER(WORLD, ierr)
    call MPI_LOOKUP_NAME(service, MPI_INFO_NULL, found, ierr)
    CHECK(ierr == MPI_SUCCESS)
    if (me == 0) then
      CHECK(found == port)
      call MPI_COMM_ACCEPT(port, MPI_INFO_NULL, 0, MPI_COMM_SELF, inter, ierr)
    else
      call MPI_COMM_CONNECT(found, MPI_INFO_NULL, 0, MPI_COMM_SELF, inter, ierr)
    end if
    call talk(inter, me == 1, 1)
    call MPI_COMM_DISCONNECT(inter, ierr)
    if (me == 0) then
      call MPI_UNPUBLISH_NAME(service, MPI_INFO_NULL, port, ierr)
      CHECK(ierr == MPI_SUCCESS)
      call MPI_CLOSE_PORT(port, ierr)
    end if
  end subroutine

  subroutine join
    HANDLE(MPI_Comm) :: inter
    integer(c_int), parameter :: unix = 1, stream = 1
    character(kind=c_char) :: address(34)
    character(31) :: name
    integer(c_int) :: at, file
    integer :: i
    write (name, '(a,i0)') 'offramp-dynamic-', c_getpid()
    call MPI_BCAST(name, len(name), MPI_CHARACTER, 0, WORLD, ierr)
    address(:3) = [char(unix, c_char), c_null_char, c_null_char]  ! the family has two bytes; the name is abstract
    do i = 1, len(name)
      address(3 + i) = name(i:i)
    end do
    at = c_socket(unix, stream, 0_c_int)
    CHECK(at >= 0)
    if (me == 0) then
      CHECK(c_bind(at, address, 34_c_int) == 0 .and. c_listen(at, 1_c_int) == 0)
      call MPI_BARRIER(WORLD, ierr)
      file = c_accept(at, c_null_ptr, c_null_ptr)
      CHECK(file >= 0)
    else
      call MPI_BARRIER(WORLD, ierr)
      CHECK(c_connect(at, address, 34_c_int) == 0)
      file = at
    end if
    call MPI_COMM_JOIN(file, inter, ierr)
    CHECK(ierr == MPI_SUCCESS .and. inter /= MPI_COMM_NULL)
    call talk(inter, me == 1, 1)
    call MPI_COMM_DISCONNECT(inter, ierr)
    if (me == 0) i = c_close(file)
    i = c_close(at)
  end subroutine
end program
