# The generated names of operators and arguments.
if(TARGET opgen)
  add_test(NAME opgen COMMAND ${CMAKE_CURRENT_LIST_DIR}/opgen.sh $<TARGET_FILE:opgen> ${CMAKE_SOURCE_DIR} ${CMAKE_C_COMPILER})
endif()
