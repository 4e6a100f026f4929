// A shared library needs one source; everything else comes from the folder libraries.
