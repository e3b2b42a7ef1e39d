"""C99: a program as stages, in floats or calibrated integers, compiled and compared with Python."""
