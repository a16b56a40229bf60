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
  set(with_torch ${CMAKE_CURRENT_LIST_DIR}/with_torch.sh 2.11.0 {python})
  set(fill_py ${CMAKE_SOURCE_DIR}/compiled/targets/torch/fill.py)
  add_test(NAME fill_twin COMMAND ${with_torch} ${CMAKE_CURRENT_LIST_DIR}/fill_twin.py ${fill_py} $<TARGET_FILE:fill_test>)
  add_test(NAME autograd_torch COMMAND ${with_torch} ${CMAKE_CURRENT_LIST_DIR}/autograd_check.py ${fill_py} ${interp_progs})
  add_test(NAME autograd_saves
    COMMAND ${with_torch} ${CMAKE_CURRENT_LIST_DIR}/saves_check.py ${fill_py} $<TARGET_FILE:interp_test> $<TARGET_FILE:opcall>)
  set_tests_properties(fill_twin autograd_torch autograd_saves PROPERTIES LABELS torch SKIP_RETURN_CODE 77 TIMEOUT 600)
endif()
