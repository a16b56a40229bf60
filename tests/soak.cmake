# Programs that were judged wrongly once, or not at all: the verdicts that they state, and the errors that must be seen in their results.
# And every row of the op table: a pass on builtin:eager and, where it is installed, on PyTorch eager. --expect: a rule of the reference
# that decays to "cannot say" fails here, and so does a target that is there and does not run.
if(TARGET scatterproof)
  set(with_torch ${CMAKE_CURRENT_LIST_DIR}/with_torch.sh)
  set(verdicts ${CMAKE_CURRENT_LIST_DIR}/verdicts.sh $<TARGET_FILE:scatterproof>)
  set(check $<TARGET_FILE:scatterproof> check --quiet --expect)
  set(rows ${CMAKE_CURRENT_LIST_DIR}/prog/rows)
  file(GLOB judged CONFIGURE_DEPENDS ${CMAKE_CURRENT_LIST_DIR}/prog/oracle/*.prog)
  add_test(NAME oracle_progs COMMAND ${verdicts} builtin ${judged})
  add_test(NAME oracle_rows COMMAND ${check} pass ${rows})
  add_test(NAME oracle_undecided COMMAND ${check} unjudged ${CMAKE_CURRENT_LIST_DIR}/prog/undecided)
  foreach(version 2.11.0 2.15.0)
    add_test(NAME oracle_progs_torch_${version} COMMAND ${with_torch} ${version} ${verdicts} torch-${version} ${judged})
    add_test(NAME oracle_rows_torch_${version} COMMAND ${with_torch} ${version} ${check} pass --target torch-${version}:eager ${rows})
    set_tests_properties(oracle_progs_torch_${version} oracle_rows_torch_${version} PROPERTIES
      LABELS torch SKIP_RETURN_CODE 77 TIMEOUT 600)
  endforeach()
  add_executable(planted_test ${CMAKE_CURRENT_LIST_DIR}/planted_test.c)
  target_link_libraries(planted_test PRIVATE campaign)
  add_test(NAME oracle_planted COMMAND planted_test ${judged})
endif()
