# Programs that were judged wrongly once: a pass on builtin:eager and, where it is installed, on PyTorch eager.
if(TARGET scatterproof)
  file(GLOB judged ${CMAKE_CURRENT_LIST_DIR}/prog/oracle/*.prog)
  add_test(NAME oracle_progs COMMAND scatterproof check --quiet ${judged})
  add_test(NAME oracle_progs_torch COMMAND scatterproof check --quiet --target torch:eager ${judged})
  set_tests_properties(oracle_progs_torch PROPERTIES LABELS torch SKIP_RETURN_CODE 3 TIMEOUT 300)
endif()
