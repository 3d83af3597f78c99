#pragma once

typedef enum { CUSPARSE_STATUS_SUCCESS = 0 } cusparseStatus_t;
typedef struct cusparseContext* cusparseHandle_t;
extern "C" const char* cusparseGetErrorString(cusparseStatus_t);
