# Manual pages, documents and examples.

# espalier_install_page(PROGRAM COMPONENT): the manual page of a program that is installed.
function(espalier_install_page program component)
  install(FILES ${CMAKE_SOURCE_DIR}/man/${program}.1 DESTINATION ${CMAKE_INSTALL_MANDIR}/man1
    COMPONENT ${component})
endfunction()
espalier_install_page(esp-cc development)
espalier_install_page(esp-c++ development)
if(TARGET espalier_accel)
  espalier_install_page(esp-accel runtime)
endif()
espalier_install_page(esp-fc development)
install(FILES man/espalier.7 DESTINATION ${CMAKE_INSTALL_MANDIR}/man7)

# Links between documents are relative, so they stand in the same folders as here.
install(FILES LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT runtime)
install(FILES README.md ARCHITECTURE.md CHANGELOG.md DESTINATION ${CMAKE_INSTALL_DOCDIR})
install(DIRECTORY docs examples DESTINATION ${CMAKE_INSTALL_DOCDIR}
  PATTERN "__pycache__" EXCLUDE PATTERN "*.json" EXCLUDE)
