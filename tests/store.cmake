# The findings store: one program per question.
add_library(store_util STATIC ${CMAKE_CURRENT_LIST_DIR}/store_util.c)
target_link_libraries(store_util PUBLIC reports sp_sqlite)
foreach(question test_store test_store_open)
  add_executable(${question} ${CMAKE_CURRENT_LIST_DIR}/${question}.c)
  target_link_libraries(${question} PRIVATE store_util)
  add_test(NAME ${question} COMMAND ${question})
endforeach()
