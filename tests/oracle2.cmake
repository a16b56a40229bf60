# The reference's rules against the installed PyTorch: random calls of every operator; skips where there is no PyTorch.
if(TARGET oracle)
  add_executable(oracle_diff oracle_diff.c)
  target_link_libraries(oracle_diff PRIVATE oracle eager sp_flags m)
  target_link_options(oracle_diff PRIVATE LINKER:--wrap=fill_storage LINKER:--wrap=prog_infer_node LINKER:--wrap=prog_validate)
endif()
