# One interposing library per MPI library: what knows MPI (lib/mpi and lib/native) is compiled against its headers, all else once.

# The family of the MPI library behind some include directories: openmpi, mpich; empty where there is no implementation of
# lib/native/native.h for it.
function(offramp_mpi_family family)
  set(${family} "" PARENT_SCOPE)
  foreach(folder ${ARGN})
    if(EXISTS ${folder}/mpi.h)
      file(STRINGS ${folder}/mpi.h lines REGEX "^#define +(OPEN_MPI|MPICH_VERSION) ")
      if(lines MATCHES "OPEN_MPI")
        set(${family} openmpi PARENT_SCOPE)
      elseif(lines MATCHES "MPICH_VERSION")
        set(${family} mpich PARENT_SCOPE)
      endif()
      return()
    endif()
  endforeach()
endfunction()

# The path of another tool of the installation that a C compiler of MPI programs belongs to, which is called as that one is:
# mpirun.mpich beside mpicc.mpich.
function(offramp_mpi_tool path tool compiler)
  get_filename_component(folder ${compiler} DIRECTORY)
  get_filename_component(name ${compiler} NAME)
  string(REPLACE mpicc ${tool} name ${name})
  set(${path} ${folder}/${name} PARENT_SCOPE)
endfunction()

# What tests/launch.py starts and compiles programs with, in the folder of a build.
function(offramp_tell_mpi build family compiler)
  offramp_mpi_tool(launcher mpirun ${compiler})
  file(WRITE ${build}/mpi.json
       "{\"family\": \"${family}\", \"launcher\": \"${launcher}\", \"compiler\": \"${compiler}\"}\n")
endfunction()

# The include directories and libraries that a compiler of MPI programs adds; empty where it is none.
function(offramp_ask_mpi_compiler compiler includes libraries)
  set(${includes} "" PARENT_SCOPE)
  set(${libraries} "" PARENT_SCOPE)
  execute_process(COMMAND ${compiler} -show OUTPUT_VARIABLE shown RESULT_VARIABLE failed ERROR_QUIET
                  OUTPUT_STRIP_TRAILING_WHITESPACE)
  if(failed)
    return()
  endif()
  separate_arguments(words UNIX_COMMAND "${shown}")
  set(found_includes "")
  set(found_libraries "")
  foreach(word ${words})
    if(word MATCHES "^-I(.+)$")
      list(APPEND found_includes ${CMAKE_MATCH_1})
    elseif(word MATCHES "^-L.+$" OR word MATCHES "^-l(mpi|mpich)$")
      list(APPEND found_libraries ${word})
    endif()
  endforeach()
  list(REMOVE_DUPLICATES found_includes)
  set(${includes} ${found_includes} PARENT_SCOPE)
  set(${libraries} ${found_libraries} PARENT_SCOPE)
endfunction()

# offramp_add_interposer(TARGET FAMILY GENERATED INCLUDE_DIRS LIBRARIES): functions are interposed from one list, with the
# signatures of that library's headers, which go to the folder GENERATED.
function(offramp_add_interposer target family generated includes libraries)
  find_file(header_${target} mpi.h PATHS ${includes} NO_DEFAULT_PATH REQUIRED)
  get_filename_component(folder ${header_${target}} DIRECTORY)
  set(headers ${header_${target}})
  foreach(name mpi_proto.h mpio.h openmpi/mpiext/mpiext_pcollreq_c.h mpiext/mpiext_pcollreq_c.h)
    if(EXISTS ${folder}/${name})
      list(APPEND headers ${folder}/${name})
    endif()
  endforeach()
  file(MAKE_DIRECTORY ${generated}/offramp/generated)
  set(table ${generated}/offramp/generated/mpi_table.hpp)
  set(entries ${generated}/entries.cpp)
  set(function_list ${generated}/offramp/generated/function_list.hpp)
  add_custom_command(
    OUTPUT ${table} ${entries} ${function_list}
    COMMAND ${Python3_EXECUTABLE} ${CMAKE_SOURCE_DIR}/lib/mpi/api/generate.py ${CMAKE_SOURCE_DIR}/lib/mpi/api/functions.txt
            ${table} ${entries} ${function_list} ${headers}
    DEPENDS lib/mpi/api/generate.py lib/mpi/api/functions.txt ${headers})
  file(GLOB face CONFIGURE_DEPENDS lib/mpi/*/*.cpp)
  file(GLOB native CONFIGURE_DEPENDS lib/native/${family}*.c lib/native/${family}*.cpp)
  list(APPEND native lib/native/table.cpp lib/native/type_recipe.cpp lib/native/world_comm.cpp)
  # The path of messages on one node; the module for UCX is a library of its own.
  set(fabric lib/fabric/node_fabric.cpp lib/fabric/node_rings.cpp)
  set_source_files_properties(${fabric} PROPERTIES COMPILE_OPTIONS "${OFFRAMP_PREFETCH_TO_WRITE}")
  add_library(${target} SHARED ${face} ${native} ${fabric} ${entries} ${table})
  # An entry point jumps, so that the function behind it returns to the program, in debug builds too.
  set_source_files_properties(${entries} PROPERTIES COMPILE_OPTIONS "-O2;-foptimize-sibling-calls")
  target_include_directories(${target} PRIVATE ${generated})
  target_include_directories(${target} SYSTEM PRIVATE ${includes})
  target_include_directories(${target} PUBLIC $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
  target_compile_definitions(${target} PRIVATE OMPI_SKIP_MPICXX MPICH_SKIP_MPICXX
                             OFFRAMP_MPI_FAMILY="${family}" OFFRAMP_NATIVE_FAMILY="lib/native/${family}.h")
  target_link_libraries(${target} PRIVATE offramp_core ${CMAKE_DL_LIBS} offramp_static_tls)
  set(inner "")
  if(family STREQUAL openmpi)
    find_path(inside_${target} ompi/request/request.h PATHS ${includes} NO_DEFAULT_PATH)
    mark_as_advanced(inside_${target})
    if(NOT inside_${target})
      message(FATAL_ERROR "This Open MPI has no internal headers (ompi/request/request.h in ${includes}), which Offramp is compiled "
                          "against. Debian's libopenmpi-dev has them; an Open MPI of your own has them if it was configured with "
                          "--with-devel-headers.")
    endif()
    set(inner -lopen-pal)
    # From 5.0 on Open MPI's internal headers include PMIx's.
    pkg_check_modules(PMIX QUIET pmix)
    target_include_directories(${target} SYSTEM PRIVATE ${PMIX_INCLUDE_DIRS})
    # They are not written for -Wpedantic.
    set_source_files_properties(lib/native/openmpi.c PROPERTIES COMPILE_OPTIONS
      "-idirafter${CMAKE_SOURCE_DIR}/lib/native/openmpi5;-Wno-pedantic;-Wno-unused-parameter;$<$<C_COMPILER_ID:GNU>:-Wno-tsan>;$<$<STREQUAL:${CMAKE_SYSTEM_PROCESSOR},x86_64>:-mcx16>")
  endif()
  target_link_options(${target} PRIVATE -Wl,--version-script=${CMAKE_SOURCE_DIR}/cmake/offramp.map
                      -Wl,--no-as-needed ${libraries} ${inner} -Wl,--as-needed)
  if(NOT OFFRAMP_SANITIZE)  # the sanitizers' functions come with the program
    target_link_options(${target} PRIVATE -Wl,-z,defs)
  endif()
  set_target_properties(${target} PROPERTIES LINK_DEPENDS ${CMAKE_SOURCE_DIR}/cmake/offramp.map)
endfunction()
