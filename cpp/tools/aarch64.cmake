# Toolchain: 64-bit ARM Linux by `zig c++`, which brings its own C and C++ libraries. CERF_ZIG is the
# Python with the package ziglang; the tests run under qemu-aarch64-static.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_TRY_COMPILE_PLATFORM_VARIABLES CERF_ZIG)
set(CMAKE_CXX_COMPILER ${CERF_ZIG} -m ziglang c++ -target aarch64-linux-musl)
set(CMAKE_AR ${CERF_ZIG})
set(CMAKE_RANLIB ${CERF_ZIG})
set(CMAKE_CXX_ARCHIVE_CREATE "<CMAKE_AR> -m ziglang ar qc <TARGET> <OBJECTS>")
set(CMAKE_CXX_ARCHIVE_APPEND "<CMAKE_AR> -m ziglang ar q <TARGET> <OBJECTS>")
set(CMAKE_CXX_ARCHIVE_FINISH "<CMAKE_RANLIB> -m ziglang ranlib <TARGET>")
set(CMAKE_CROSSCOMPILING_EMULATOR qemu-aarch64-static)
