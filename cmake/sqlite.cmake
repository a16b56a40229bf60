# The static SQLite of Debian's libsqlite3-dev, as target sp_sqlite (STRICT tables: 3.37 or later).
find_path(SQLITE3_INCLUDE sqlite3.h)
find_library(SQLITE3_STATIC NAMES libsqlite3.a)
if(NOT SQLITE3_INCLUDE OR NOT SQLITE3_STATIC)
  message(FATAL_ERROR "static SQLite not found: install libsqlite3-dev")
endif()
add_library(sp_sqlite INTERFACE)
target_include_directories(sp_sqlite SYSTEM INTERFACE ${SQLITE3_INCLUDE})
target_link_libraries(sp_sqlite INTERFACE ${SQLITE3_STATIC} m dl pthread)
