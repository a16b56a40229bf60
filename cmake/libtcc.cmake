# The static libtcc of Debian's libtcc-dev, as target sp_libtcc.
find_path(TCC_INCLUDE libtcc.h)
find_library(TCC_STATIC NAMES libtcc.a)
if(NOT TCC_INCLUDE OR NOT TCC_STATIC)
  message(FATAL_ERROR "static libtcc not found: install libtcc-dev")
endif()
add_library(sp_libtcc INTERFACE)
target_include_directories(sp_libtcc SYSTEM INTERFACE ${TCC_INCLUDE})
target_link_libraries(sp_libtcc INTERFACE ${TCC_STATIC} dl)
