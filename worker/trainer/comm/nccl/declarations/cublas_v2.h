#pragma once

#include <cuda_runtime.h>

typedef enum { CUBLAS_STATUS_SUCCESS = 0 } cublasStatus_t;
typedef struct cublasContext* cublasHandle_t;
