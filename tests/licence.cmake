# Rows of the licence table: neither exceeded nor much too wide.
if(TARGET campaign)
  add_executable(licence_probe ${CMAKE_CURRENT_LIST_DIR}/licence_probe.c)
  target_link_libraries(licence_probe PRIVATE campaign)
  add_test(NAME licence_builtin COMMAND licence_probe $<TARGET_FILE:scatterproof> builtin:eager)
  add_test(NAME licence_torch COMMAND licence_probe $<TARGET_FILE:scatterproof> torch:eager@cpu torch:inductor@cpu)
  set_tests_properties(licence_torch PROPERTIES LABELS torch SKIP_RETURN_CODE 77 TIMEOUT 1800)
endif()
