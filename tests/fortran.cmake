# The programs in Fortran: one source for every binding. Those of tests/mpi have the binding in their names.

# add_fortran_programs(BUILD COMPILER): for the MPI library of that compiler, in a folder laid out as a build for it is. Their paths are
# appended to fortran_binaries.
function(add_fortran_programs build compiler)
  set(name_MPIF mpif)
  set(name_MPI usempi)
  set(name_F08 f08)
  foreach(binding MPIF MPI F08)
    set(flags -DBINDING_${binding} -O1 -g -ffree-line-length-none)
    if(binding STREQUAL MPIF)
      list(APPEND flags -fallow-argument-mismatch -w)  # mpif.h has no interfaces: buffers of every type
    endif()
    set(mpi/fortran mpi/fortran_${name_${binding}})
    set(fortran/every_call fortran/${binding}/every_call)
    set(fortran/dynamic fortran/${binding}/dynamic)
    foreach(source mpi/fortran fortran/every_call fortran/dynamic)
      set(program ${build}/tests/${${source}})
      set(modules ${build}/tests/modules/${${source}})
      add_custom_command(OUTPUT ${program}
                         COMMAND ${CMAKE_COMMAND} -E make_directory ${modules} ${build}/tests/fortran/${binding}
                         COMMAND ${compiler} ${flags} -J ${modules} -o ${program} ${CMAKE_CURRENT_SOURCE_DIR}/${source}.F90
                         DEPENDS ${source}.F90 fortran/binding.inc fortran/library.inc)
      list(APPEND fortran_binaries ${program})
    endforeach()
  endforeach()
  set(fortran_binaries ${fortran_binaries} PARENT_SCOPE)
endfunction()
