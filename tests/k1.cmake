# Eager's rules against the installed PyTorch: random calls of every operator; skips where there is no PyTorch.
if(TARGET eager)
  add_executable(opcall diff/opcall.c)
  target_link_libraries(opcall PRIVATE eager)
endif()
