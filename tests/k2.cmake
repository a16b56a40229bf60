# Views, copies, scatters and gathers: single calls against answers that PyTorch gave.
if(TARGET eager)
  add_executable(k2_test k2_test.c)
  target_link_libraries(k2_test PRIVATE eager)
  add_test(NAME eager.moves COMMAND k2_test)
endif()
