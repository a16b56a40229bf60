# Planted errors must be noticed.
if(TARGET campaign)
  add_executable(selfcatch selfcatch.c)
  target_link_libraries(selfcatch PRIVATE campaign)
  add_test(NAME selfcatch COMMAND selfcatch)
endif()
