// One function a test file; main.cpp calls them in this order.
#pragma once

void test_output_memory();
void test_threads();
void test_validation();
void test_kernels();
void test_dense();
void test_masked();
void test_fastfood();
void test_tables();
void test_training();
