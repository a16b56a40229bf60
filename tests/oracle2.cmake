# The reference's rules against the installed PyTorch: random calls of every operator; skips where there is no PyTorch.
if(TARGET oracle)
  add_executable(oracle_diff ${CMAKE_CURRENT_LIST_DIR}/oracle_diff.c)
  target_link_libraries(oracle_diff PRIVATE oracle compiled eager sp_flags m)
  target_link_options(oracle_diff PRIVATE LINKER:--wrap=fill_storage LINKER:--wrap=prog_infer_or_refuse LINKER:--wrap=prog_validate)
  add_test(NAME oracle_torch COMMAND ${CMAKE_CURRENT_LIST_DIR}/diff/run.sh ../oracle_diff.py $<TARGET_FILE:oracle_diff> $<TARGET_FILE:opcall> --calls 80)
  set_tests_properties(oracle_torch PROPERTIES LABELS torch SKIP_RETURN_CODE 77 TIMEOUT 600)
endif()
