# The static OpenBLAS of Debian's libopenblas-pthread-dev, as target sp_openblas. It runs with one thread (eager/ops/matmul.c).
find_path(OPENBLAS_INCLUDE cblas.h PATH_SUFFIXES openblas-pthread x86_64-linux-gnu/openblas-pthread)
find_library(OPENBLAS_STATIC NAMES libopenblas.a PATH_SUFFIXES openblas-pthread x86_64-linux-gnu/openblas-pthread)
if(NOT OPENBLAS_INCLUDE OR NOT OPENBLAS_STATIC)
  message(FATAL_ERROR "static OpenBLAS not found: install libopenblas-pthread-dev")
endif()
add_library(sp_openblas INTERFACE)
target_include_directories(sp_openblas SYSTEM INTERFACE ${OPENBLAS_INCLUDE})
target_link_libraries(sp_openblas INTERFACE ${OPENBLAS_STATIC} m pthread)
