# Programs that were judged wrongly once, and every row of the op table: a pass on builtin:eager and, where it is installed, on
# PyTorch eager. --expect: a rule of the reference that decays to "cannot say" fails here, and so does a target that is there and does not run.
if(TARGET scatterproof)
  set(with_torch ${CMAKE_CURRENT_LIST_DIR}/with_torch.sh)
  set(must_pass ${CMAKE_CURRENT_LIST_DIR}/prog/oracle ${CMAKE_CURRENT_LIST_DIR}/prog/rows)
  add_test(NAME oracle_progs COMMAND scatterproof check --quiet --expect pass ${must_pass})
  add_test(NAME oracle_undecided COMMAND scatterproof check --expect unjudged ${CMAKE_CURRENT_LIST_DIR}/prog/undecided)
  foreach(version 2.11.0 2.15.0)
    add_test(NAME oracle_progs_torch_${version}
      COMMAND ${with_torch} ${version} $<TARGET_FILE:scatterproof> check --quiet --expect pass --target torch-${version}:eager ${must_pass})
    set_tests_properties(oracle_progs_torch_${version} PROPERTIES LABELS torch SKIP_RETURN_CODE 77 TIMEOUT 600)
  endforeach()
endif()
