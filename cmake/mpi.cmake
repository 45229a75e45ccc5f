# One interposing library per MPI library: what knows MPI (lib/run/mpi and lib/run/native) is compiled against its headers, all else once.

# The family of the MPI library behind some include directories: openmpi, mpich; empty where there is no implementation of
# lib/run/native/native.h for it.
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

set(OFFRAMP_MPI_ROOMS offramp_native_family offramp_mpi_marshal_family offramp_mpi_runtime_family offramp_mpi_runtime_family_cold
                      offramp_mpi_api_family)

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
  set(OFFRAMP_HEADERS_${family} ${headers} PARENT_SCOPE)  # tests/freed_early.cmake
  file(MAKE_DIRECTORY ${generated}/offramp/generated)
  set(table ${generated}/offramp/generated/mpi_table.hpp)
  set(entries ${generated}/entries.cpp)
  set(function_list ${generated}/offramp/generated/function_list.hpp)
  add_custom_command(
    OUTPUT ${table} ${entries} ${function_list}
    COMMAND ${Python3_EXECUTABLE} ${CMAKE_SOURCE_DIR}/lib/run/mpi/api/generate.py ${CMAKE_SOURCE_DIR}/lib/run/mpi/api/functions.txt
            ${table} ${entries} ${function_list} ${headers}
    DEPENDS lib/run/mpi/api/generate.py lib/run/mpi/api/functions.txt ${headers})
  # What every source that knows MPI is compiled with.
  add_library(${target}_mpi INTERFACE)
  target_include_directories(${target}_mpi INTERFACE ${generated})
  target_compile_options(${target}_mpi INTERFACE ${OFFRAMP_NARROW_LOADS})
  target_include_directories(${target}_mpi SYSTEM INTERFACE ${includes})
  target_compile_definitions(${target}_mpi INTERFACE OMPI_SKIP_MPICXX MPICH_SKIP_MPICXX
                             OFFRAMP_MPI_FAMILY="${family}" OFFRAMP_NATIVE_FAMILY="lib/run/native/${family}.h")
  # These rooms are objects, not archives: programs call their functions, Offramp does not.
  file(GLOB native CONFIGURE_DEPENDS lib/run/native/${family}*.c lib/run/native/${family}*.cpp)
  offramp_room(lib/run/native OBJECTS FAMILY ${family} LINKS ${target}_mpi fmt::fmt
               SOURCES ${native} lib/run/native/table.cpp lib/run/native/type_recipe.cpp lib/run/native/world_comm.cpp)
  offramp_room(lib/run/mpi/marshal OBJECTS FAMILY ${family} LINKS ${target}_mpi lib/run/native lib/run/engine lib/programs/recording)
  offramp_room(lib/run/mpi/runtime OBJECTS FAMILY ${family} LINKS ${target}_mpi lib/run/mpi/marshal lib/answers/report
               COLD_SOURCES open_fabric startup untimely_end write_recording write_reports)
  offramp_room(lib/run/mpi/api OBJECTS FAMILY ${family} LINKS ${target}_mpi lib/run/mpi/runtime)
  add_library(${target} SHARED ${entries})
  add_custom_target(${target}_generated DEPENDS ${table} ${entries} ${function_list})
  add_dependencies(${target} ${target}_generated)
  list(TRANSFORM OFFRAMP_MPI_ROOMS REPLACE "_family" _${family} OUTPUT_VARIABLE rooms)
  foreach(room ${rooms})
    add_dependencies(${room} ${target}_generated)
    target_link_libraries(${target} PRIVATE ${room})
  endforeach()
  # An entry point jumps, so that the function behind it returns to the program, in debug builds too.
  set_source_files_properties(${entries} PROPERTIES COMPILE_OPTIONS "-O2;-foptimize-sibling-calls")
  target_include_directories(${target} PUBLIC $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
  target_link_libraries(${target} PRIVATE offramp_static_tls)
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
    target_include_directories(${target}_mpi SYSTEM INTERFACE ${PMIX_INCLUDE_DIRS})
    # They are not written for -Wpedantic.
    set_source_files_properties(lib/run/native/openmpi.c PROPERTIES COMPILE_OPTIONS
      "-idirafter${CMAKE_SOURCE_DIR}/lib/run/native/openmpi5;-Wno-pedantic;-Wno-unused-parameter;$<$<C_COMPILER_ID:GNU>:-Wno-tsan>;$<$<STREQUAL:${CMAKE_SYSTEM_PROCESSOR},x86_64>:-mcx16>")
  endif()
  target_link_options(${target} PRIVATE -Wl,--version-script=${CMAKE_SOURCE_DIR}/cmake/offramp.map
                      -Wl,--no-as-needed ${libraries} ${inner} -Wl,--as-needed)
  if(NOT OFFRAMP_SANITIZE)  # the sanitizers' functions come with the program
    target_link_options(${target} PRIVATE -Wl,-z,defs)
  endif()
  set_target_properties(${target} PROPERTIES LINK_DEPENDS ${CMAKE_SOURCE_DIR}/cmake/offramp.map)
endfunction()
