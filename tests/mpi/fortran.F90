! Point-to-point and Bcast, Reduce, Gather in Fortran: statuses, MPI_STATUS_IGNORE, MPI_STATUSES_IGNORE, MPI_IN_PLACE,
! MPI_BOTTOM, requests in arrays, persistent requests, matched probes, Bsend, a user's operation. Buffers are whole
! arrays, integers and reals, and sections of contiguous memory. Error arguments are left out here and there where the
! binding allows it. One program for each binding: fortran_mpif, fortran_usempi and fortran_f08.
#include "../fortran/binding.inc"
#ifdef BINDING_F08
#define NAME 'fortran_f08'
#define OPTIONAL_IERR
#define STATUS_AT(statuses, i) statuses(i)
#else
#ifdef BINDING_MPI
#define NAME 'fortran_usempi'
#else
#define NAME 'fortran_mpif'
#endif
#define OPTIONAL_IERR , ierr
#define STATUS_AT(statuses, i) statuses(:, i)
#endif

module check
  MODULE_OR_HEADER
  implicit none
  HEADER
  integer :: me, np, left, right, ierr
contains
  subroutine expect(ok, line)
    logical, intent(in) :: ok
    integer, intent(in) :: line
    integer :: e
    if (ok) return
    write (0, '(a,a,a,i0,a,i0)') 'FAIL ', NAME, ' check ', line, ' rank ', me
    call MPI_ABORT(MPI_COMM_WORLD, 1, e)
  end subroutine

#include "../fortran/library.inc"

  ! Composition of x -> a x + b, element pairs (a, b): associative, not commutative.
#ifdef BINDING_F08
  subroutine compose(in_address, inout_address, n, datatype)
    use, intrinsic :: iso_c_binding, only: c_ptr, c_f_pointer
    type(c_ptr), value :: in_address, inout_address
    integer :: n, i
    type(MPI_Datatype) :: datatype
    integer, pointer :: in(:, :), inout(:, :)
    if (datatype == MPI_DATATYPE_NULL) return
    call c_f_pointer(in_address, in, [2, n])
    call c_f_pointer(inout_address, inout, [2, n])
#else
  subroutine compose(in, inout, n, datatype)
    integer :: n, datatype, i
    integer :: in(2, n), inout(2, n)
    integer :: dummy
    dummy = datatype
#endif
    do i = 1, n
      inout(2, i) = in(1, i) * inout(2, i) + in(2, i)
      inout(1, i) = in(1, i) * inout(1, i)
    end do
  end subroutine
end module

program main
  use check
  implicit none
  call MPI_INIT(ierr)
  call MPI_COMM_RANK(MPI_COMM_WORLD, me, ierr)
  call MPI_COMM_SIZE(MPI_COMM_WORLD, np, ierr)
  right = mod(me + 1, np)
  left = mod(me + np - 1, np)
  call blocking(1)
  call blocking(100)
  call blocking(50000)
  call requests
  call probes
  call persistent
  call buffered
  call bottom
  call collectives
  call nonblocking_collectives
  call user_op
  call MPI_BARRIER(MPI_COMM_WORLD OPTIONAL_IERR)
  if (me == 0) print '(a)', 'ok ' // NAME
  call MPI_FINALIZE(ierr)

contains

  subroutine blocking(n)
    integer, intent(in) :: n
    STATUS :: status
    integer :: out(n), in(n), count, i, from
    out = [(me * 100000 + i, i = 1, n)]
    do from = 0, np - 1
      if (np == 1) exit
      in = -1
      if (me == from) call MPI_SEND(out, n, MPI_INTEGER, right, 7, MPI_COMM_WORLD, ierr)
      if (left == from) then
        call MPI_RECV(in, n, MPI_INTEGER, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, status, ierr)
        call MPI_GET_COUNT(status, MPI_INTEGER, count, ierr)
        call expect(SOURCE_OF(status) == left .and. TAG_OF(status) == 7 .and. count == n, 1)
        call expect(all(in == [(left * 100000 + i, i = 1, n)]), 2)
      end if
      call MPI_BARRIER(MPI_COMM_WORLD OPTIONAL_IERR)
      if (me == from) call MPI_SSEND(out, n, MPI_INTEGER, right, 8, MPI_COMM_WORLD, ierr)
      if (left == from) call MPI_RECV(in, n, MPI_INTEGER, left, 8, MPI_COMM_WORLD, MPI_STATUS_IGNORE, ierr)
    end do
    in = -1
    call MPI_SENDRECV(out, n, MPI_INTEGER, right, 3, in, n, MPI_INTEGER, left, 3, MPI_COMM_WORLD, &
                      status, ierr)
    call expect(SOURCE_OF(status) == left .and. all(in == [(left * 100000 + i, i = 1, n)]), 3)
    call MPI_SENDRECV_REPLACE(in, n, MPI_INTEGER, left, 4, right, 4, MPI_COMM_WORLD, &
                              MPI_STATUS_IGNORE, ierr)
    call expect(all(in == out), 4)
    call MPI_RECV(in, n, MPI_INTEGER, MPI_PROC_NULL, 1, MPI_COMM_WORLD, status, ierr)
    call MPI_GET_COUNT(status, MPI_INTEGER, count, ierr)
    call expect(SOURCE_OF(status) == MPI_PROC_NULL .and. TAG_OF(status) == MPI_ANY_TAG .and. count == 0, 5)
  end subroutine

  subroutine requests
    integer, parameter :: n = 20, room = 3000
    integer, asynchronous, save :: out(room, n), in(room, n)
    HANDLE(MPI_Request) :: r(2 * n)
    STATUSES(statuses, 2 * n)
    STATUS :: status
    integer :: i, way, index, done, indices(2 * n), count
    logical :: flag
    do way = 1, 6
      do i = 1, n
        in(:, i) = -1
        out(:, i) = me * 1000 + i + way
        call MPI_IRECV(in(:, i), room, MPI_INTEGER, left, i, MPI_COMM_WORLD, r(i), ierr)
        call MPI_ISEND(out(:150 * i, i), 150 * i, MPI_INTEGER, right, i, MPI_COMM_WORLD, r(n + i), ierr)
      end do
      select case (way)
      case (1)
        do i = 1, 2 * n
          call MPI_WAIT(r(i), status, ierr)
          STATUS_AT(statuses, i) = status
        end do
      case (2)
        call MPI_WAITALL(2 * n, r, statuses, ierr)
      case (3)
        call MPI_WAITALL(2 * n, r, MPI_STATUSES_IGNORE OPTIONAL_IERR)
      case (4)
        do done = 1, 2 * n
          call MPI_WAITANY(2 * n, r, index, status, ierr)
          index = from_one(index)
          call expect(index >= 1 .and. index <= 2 * n, 10)
          STATUS_AT(statuses, index) = status
        end do
        call MPI_WAITANY(2 * n, r, index, MPI_STATUS_IGNORE, ierr)
        call expect(from_one(index) == MPI_UNDEFINED, 11)
      case (5)
        done = 0
        do while (done < 2 * n)
          call MPI_TESTSOME(2 * n, r, count, indices, MPI_STATUSES_IGNORE OPTIONAL_IERR)
          done = done + count
        end do
      case (6)
        flag = .false.
        do while (.not. flag)
          call MPI_TESTALL(2 * n, r, flag, statuses, ierr)
        end do
      end select
      do i = 1, n
        call expect(r(i) == MPI_REQUEST_NULL .and. r(n + i) == MPI_REQUEST_NULL, 12)
        call expect(all(in(1:150 * i, i) == left * 1000 + i + way), 13)
        if (150 * i < room) call expect(all(in(150 * i + 1:, i) == -1), 14)
        if (way == 3 .or. way == 5) cycle
        status = STATUS_AT(statuses, i)
        call MPI_GET_COUNT(status, MPI_INTEGER, count, ierr)
        call expect(SOURCE_OF(status) == left .and. TAG_OF(status) == i .and. count == 150 * i, 15)
      end do
    end do
    call MPI_IRECV(in, 1, MPI_INTEGER, left, 999, MPI_COMM_WORLD, r(1), ierr)
    call MPI_CANCEL(r(1), ierr)
    call MPI_WAIT(r(1), status, ierr)
    call MPI_TEST_CANCELLED(status, flag, ierr)
    call expect(flag, 16)
  end subroutine

  subroutine probes
    integer, asynchronous :: out(10), in(10)
    STATUS :: status
    HANDLE(MPI_Message) :: message
    HANDLE(MPI_Request) :: r(2)
    integer :: count, i
    logical :: flag
    out = [(me + i, i = 1, 10)]
    do i = 1, 2
      call MPI_ISEND(out, 10, MPI_INTEGER, right, 5, MPI_COMM_WORLD, r(1), ierr)
      call MPI_ISEND(out, 3, MPI_INTEGER, right, 6, MPI_COMM_WORLD, r(2), ierr)
      call MPI_PROBE(left, 6, MPI_COMM_WORLD, status, ierr)
      call MPI_GET_COUNT(status, MPI_INTEGER, count, ierr)
      call expect(count == 3, 20)
      flag = .false.
      do while (.not. flag)
        call MPI_IPROBE(MPI_ANY_SOURCE, 5, MPI_COMM_WORLD, flag, status, ierr)
      end do
      call expect(SOURCE_OF(status) == left .and. TAG_OF(status) == 5, 21)
      if (i == 1) then
        call MPI_MPROBE(left, 5, MPI_COMM_WORLD, message, status, ierr)
      else
        flag = .false.
        do while (.not. flag)
          call MPI_IMPROBE(left, 5, MPI_COMM_WORLD, flag, message, status, ierr)
        end do
      end if
      call MPI_GET_COUNT(status, MPI_INTEGER, count, ierr)
      call expect(count == 10, 22)
      in = -1
      call MPI_MRECV(in, 10, MPI_INTEGER, message, MPI_STATUS_IGNORE, ierr)
      call expect(message == MPI_MESSAGE_NULL .and. all(in == out + left - me), 23)
      call MPI_RECV(in, 10, MPI_INTEGER, left, 6, MPI_COMM_WORLD, MPI_STATUS_IGNORE, ierr)
      call MPI_WAITALL(2, r, MPI_STATUSES_IGNORE OPTIONAL_IERR)
    end do
    call MPI_MPROBE(MPI_PROC_NULL, 5, MPI_COMM_WORLD, message, status, ierr)
    call expect(message == MPI_MESSAGE_NO_PROC .and. SOURCE_OF(status) == MPI_PROC_NULL, 24)
  end subroutine

  subroutine persistent
    double precision, asynchronous :: out(500), in(500)
    HANDLE(MPI_Request) :: r(2)
    integer :: round
    call MPI_RECV_INIT(in, 500, MPI_DOUBLE_PRECISION, left, 9, MPI_COMM_WORLD, r(1), ierr)
    call MPI_SEND_INIT(out, 500, MPI_DOUBLE_PRECISION, right, 9, MPI_COMM_WORLD, r(2), ierr)
    do round = 1, 20
      out = me * 100 + round
      in = -1
      if (mod(round, 2) == 0) then
        call MPI_STARTALL(2, r, ierr)
        call MPI_WAITALL(2, r, MPI_STATUSES_IGNORE OPTIONAL_IERR)
      else
        call MPI_START(r(1), ierr)
        call MPI_START(r(2), ierr)
        call MPI_WAIT(r(2), MPI_STATUS_IGNORE, ierr)
        call MPI_WAIT(r(1), MPI_STATUS_IGNORE, ierr)
      end if
      call expect(r(1) /= MPI_REQUEST_NULL .and. all(nint(in) == left * 100 + round), 30)
    end do
    call MPI_REQUEST_FREE(r(1), ierr)
    call MPI_REQUEST_FREE(r(2), ierr)
    call expect(r(1) == MPI_REQUEST_NULL .and. r(2) == MPI_REQUEST_NULL, 31)
  end subroutine

  subroutine buffered
    use, intrinsic :: iso_c_binding, only: c_ptr
    integer, parameter :: space = 100000
    integer, asynchronous, save :: attached(space / 4)
    integer :: out(1000), in(1000), i, size
#ifdef BINDING_F08
    type(c_ptr) :: gone
#else
    integer :: gone(4)
#endif
    call MPI_BUFFER_ATTACH(attached, space, ierr)
    do i = 1, 5
      out = me * 10 + i
      call MPI_BSEND(out, 1000, MPI_INTEGER, right, i, MPI_COMM_WORLD, ierr)
    end do
    do i = 5, 1, -1
      call MPI_RECV(in, 1000, MPI_INTEGER, left, i, MPI_COMM_WORLD, MPI_STATUS_IGNORE, ierr)
      call expect(all(in == left * 10 + i), 40)
    end do
    call MPI_BUFFER_DETACH(gone, size, ierr)
    call expect(size == space, 41)
  end subroutine

  ! Three integers and two reals at either end, named by address only.
  subroutine bottom
    integer, asynchronous, save :: a(3), b(3)
    double precision, asynchronous, save :: x(2), y(2)
    HANDLE(MPI_Datatype) :: out, in, kinds(2)
    integer :: lengths(2)
    integer(kind=MPI_ADDRESS_KIND) :: at(2)
    lengths = [3, 2]
    kinds = [MPI_INTEGER, MPI_DOUBLE_PRECISION]
    call MPI_GET_ADDRESS(a, at(1), ierr)
    call MPI_GET_ADDRESS(x, at(2), ierr)
    call MPI_TYPE_CREATE_STRUCT(2, lengths, at, kinds, out, ierr)
    call MPI_GET_ADDRESS(b, at(1), ierr)
    call MPI_GET_ADDRESS(y, at(2), ierr)
    call MPI_TYPE_CREATE_STRUCT(2, lengths, at, kinds, in, ierr)
    call MPI_TYPE_COMMIT(out, ierr)
    call MPI_TYPE_COMMIT(in, ierr)
    a = [me, me + 1, me + 2]
    x = me / 2d0
    call sync(a, x)
    call MPI_SENDRECV(MPI_BOTTOM, 1, out, right, 2, MPI_BOTTOM, 1, in, left, 2, MPI_COMM_WORLD, &
                      MPI_STATUS_IGNORE, ierr)
    call sync(b, y)
    call expect(all(b == [left, left + 1, left + 2]) .and. all(nint(2 * y) == left), 50)
    call MPI_BCAST(MPI_BOTTOM, 1, in, 0, MPI_COMM_WORLD, ierr)
    call sync(b, y)
    call expect(b(1) == np - 1 .and. all(nint(2 * y) == np - 1), 51)
    call MPI_TYPE_FREE(out, ierr)
    call MPI_TYPE_FREE(in, ierr)
  end subroutine

  ! The compiler must not keep copies of what MPI reads and writes by address.
  subroutine sync(ints, reals)
    integer, asynchronous :: ints(3)
    double precision, asynchronous :: reals(2)
#ifndef BINDING_F08
    if (over_mpich()) return  ! there it takes an error argument, and writes to it
#endif
    call MPI_F_SYNC_REG(ints)
    call MPI_F_SYNC_REG(reals)
  end subroutine

  subroutine collectives
    integer :: word(1000), total(10), all(4 * np), mine(4), root, i
    do root = 0, np - 1
      word = merge(root + 5, -1, me == root)
      call MPI_BCAST(word, 1000, MPI_INTEGER, root, MPI_COMM_WORLD, ierr)
      call expect(word(1) == root + 5 .and. word(1000) == root + 5, 60)
      total = me + [(i, i = 1, 10)]
      if (me == root) then
        call MPI_REDUCE(MPI_IN_PLACE, total, 10, MPI_INTEGER, MPI_SUM, root, MPI_COMM_WORLD, ierr)
        do i = 1, 10
          call expect(total(i) == np * i + np * (np - 1) / 2, 61)
        end do
      else
        call MPI_REDUCE(total, word, 10, MPI_INTEGER, MPI_SUM, root, MPI_COMM_WORLD, ierr)
      end if
      mine = me * 4 + [0, 1, 2, 3]
      all = -1
      if (me == root) then
        all(4 * me + 1:4 * me + 4) = mine
        call MPI_GATHER(MPI_IN_PLACE, 0, MPI_INTEGER, all, 4, MPI_INTEGER, root, MPI_COMM_WORLD, ierr)
        do i = 1, 4 * np
          call expect(all(i) == i - 1, 62)
        end do
      else
        call MPI_GATHER(mine, 4, MPI_INTEGER, all, 4, MPI_INTEGER, root, MPI_COMM_WORLD, ierr)
        call expect(all(1) == -1, 63)
      end if
    end do
    total(1) = me
    call MPI_ALLREDUCE(MPI_IN_PLACE, total, 1, MPI_INTEGER, MPI_MAX, MPI_COMM_WORLD, ierr)
    call expect(total(1) == np - 1, 64)
  end subroutine

  subroutine nonblocking_collectives
    integer, asynchronous :: word(10), mine(5), total(5), gathered(5 * np), in(1)
    HANDLE(MPI_Request) :: r(5)
    integer :: root, i
    do root = 0, np - 1
      word = merge(root, -1, me == root)
      mine = me + 1
      in = -1
      call MPI_IBCAST(word, 10, MPI_INTEGER, root, MPI_COMM_WORLD, r(1), ierr)
      call MPI_IREDUCE(mine, total, 5, MPI_INTEGER, MPI_SUM, root, MPI_COMM_WORLD, r(2), ierr)
      call MPI_IGATHER(mine, 5, MPI_INTEGER, gathered, 5, MPI_INTEGER, root, MPI_COMM_WORLD, r(3), ierr)
      call MPI_IRECV(in, 1, MPI_INTEGER, left, 1, MPI_COMM_WORLD, r(4), ierr)
      call MPI_ISEND(mine, 1, MPI_INTEGER, right, 1, MPI_COMM_WORLD, r(5), ierr)
      do i = 5, 1, -1
        call MPI_WAIT(r(i), MPI_STATUS_IGNORE, ierr)
      end do
      call expect(all(word == root) .and. in(1) == left + 1, 70)
      if (me == root) call expect(all(total == np * (np + 1) / 2), 71)
      if (me == root) call expect(all(gathered == [((i + 4) / 5, i = 1, 5 * np)]), 72)
    end do
  end subroutine

  subroutine user_op
    HANDLE(MPI_Op) :: op
    HANDLE(MPI_Datatype) :: pair
    integer :: mine(2, 50), all(2, 50), a, b, i, k
    call MPI_TYPE_CONTIGUOUS(2, MPI_INTEGER, pair, ierr)
    call MPI_TYPE_COMMIT(pair, ierr)
    call MPI_OP_CREATE(compose, .false., op, ierr)
    do i = 1, 50
      mine(:, i) = [me + 2, me + i]
    end do
    call MPI_REDUCE(mine, all, 50, pair, op, np - 1, MPI_COMM_WORLD, ierr)
    do i = 1, 50
      a = 2
      b = i
      do k = 1, np - 1
        b = a * (k + i) + b
        a = a * (k + 2)
      end do
      if (me == np - 1) call expect(all(1, i) == a .and. all(2, i) == b, 80)
    end do
    call MPI_OP_FREE(op, ierr)
    call MPI_TYPE_FREE(pair, ierr)
  end subroutine
end program
