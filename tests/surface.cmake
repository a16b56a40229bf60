# Spellings in the surfaces `torch` and `python` dispatch to the program's own operators. Exits 77 = skipped where PyTorch is not installed.
if(TARGET gen)
  add_executable(surface_print ${CMAKE_CURRENT_LIST_DIR}/surface_print.c)
  target_link_libraries(surface_print PRIVATE gen compiled eager)
endif()
