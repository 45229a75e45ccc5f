# A library that frees the handles of programs early (fixtures/freed_early.hpp), in a folder of the build for a family of MPI libraries;
# checks: the target that has the options for its programs.
function(offramp_freed_early family folder checks)
  set(functions ${CMAKE_CURRENT_BINARY_DIR}/freed_early_${family}.cpp)
  add_custom_command(
    OUTPUT ${functions}
    COMMAND ${Python3_EXECUTABLE} ${CMAKE_CURRENT_SOURCE_DIR}/fixtures/freed_early.py ${functions} ${OFFRAMP_HEADERS_${family}}
    DEPENDS fixtures/freed_early.py ${CMAKE_SOURCE_DIR}/lib/run/mpi/api/generate.py ${OFFRAMP_HEADERS_${family}})
  add_library(freed_early_${family} MODULE fixtures/freed_early.cpp ${functions})
  target_include_directories(freed_early_${family} PRIVATE ${CMAKE_SOURCE_DIR})
  target_compile_definitions(freed_early_${family} PRIVATE OMPI_SKIP_MPICXX MPICH_SKIP_MPICXX)
  target_link_libraries(freed_early_${family} PRIVATE ${checks})
  set_target_properties(freed_early_${family} PROPERTIES CXX_VISIBILITY_PRESET default OUTPUT_NAME freed_early
                        LIBRARY_OUTPUT_DIRECTORY ${folder}/tests)
endfunction()
