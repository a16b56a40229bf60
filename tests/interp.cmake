# The eager interpreter: fills, programs with expectations, autograd's rules against PyTorch where it is installed.
if(TARGET eager)
  add_executable(fill_test ${CMAKE_CURRENT_LIST_DIR}/fill_test.c)
  target_link_libraries(fill_test PRIVATE eager)
  add_test(NAME fill COMMAND fill_test)
  add_executable(interp_test ${CMAKE_CURRENT_LIST_DIR}/interp_test.c)
  target_link_libraries(interp_test PRIVATE eager)
  file(GLOB interp_progs CONFIGURE_DEPENDS ${CMAKE_CURRENT_LIST_DIR}/prog/interp/*.prog ${CMAKE_CURRENT_LIST_DIR}/prog/autograd/*.prog
    ${CMAKE_CURRENT_LIST_DIR}/prog/rows/*.prog)
  add_test(NAME interp COMMAND interp_test ${interp_progs})
  set(SP_PYTHON "$ENV{HOME}/.local/share/scatterproof/targets/torch-2.11.0/bin/python" CACHE FILEPATH "a Python with PyTorch, for tests against it")
  if(EXISTS ${SP_PYTHON})
    add_test(NAME fill_twin COMMAND ${SP_PYTHON} ${CMAKE_CURRENT_LIST_DIR}/fill_twin.py
      ${CMAKE_SOURCE_DIR}/compiled/targets/fill.py $<TARGET_FILE:fill_test>)
    add_test(NAME autograd_torch COMMAND ${SP_PYTHON} ${CMAKE_CURRENT_LIST_DIR}/autograd_check.py
      ${CMAKE_SOURCE_DIR}/compiled/targets/fill.py ${interp_progs})
    add_test(NAME autograd_saves COMMAND ${SP_PYTHON} ${CMAKE_CURRENT_LIST_DIR}/saves_check.py
      ${CMAKE_SOURCE_DIR}/compiled/targets/fill.py $<TARGET_FILE:interp_test> $<TARGET_FILE:opcall>)
  endif()
endif()
