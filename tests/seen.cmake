# What goes unjudged is said and counted.
if(TARGET scatterproof)
  foreach(part refused)
    add_test(NAME seen_${part} COMMAND ${CMAKE_CURRENT_LIST_DIR}/seen.sh $<TARGET_FILE:scatterproof> ${CMAKE_SOURCE_DIR} ${part})
  endforeach()
endif()
