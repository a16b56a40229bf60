if(TARGET gen)
  add_executable(test_gen ${CMAKE_CURRENT_LIST_DIR}/test_gen.c)
  target_link_libraries(test_gen PRIVATE gen eager)
  add_test(NAME gen COMMAND test_gen)
  # Generated programs on PyTorch eager: 99.9 % must be accepted. Exits 77 = skipped where PyTorch is not installed.
  add_test(NAME gen_accept COMMAND sh ${CMAKE_CURRENT_LIST_DIR}/gen_accept.sh $<TARGET_FILE:test_gen> 2000)
  set_tests_properties(gen_accept PROPERTIES LABELS torch SKIP_RETURN_CODE 77 TIMEOUT 900)
endif()
