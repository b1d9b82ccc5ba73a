/* Our own declarations of CUDA's types against the toolkit's, where there is one: a wrong offset is
 * found by the compiler, not on a GPU. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "measure/cuda_driver.h"

#if STAX_HAVE_CUDA_HEADERS
#include <cuda.h>
#include <cupti.h>
#include <nvrtc.h>

#define SAME(ours, theirs) _Static_assert((ours) == (theirs), #ours)
SAME(sizeof(struct cuda_launch_config), sizeof(CUlaunchConfig));
SAME(offsetof(struct cuda_launch_config, block), offsetof(CUlaunchConfig, blockDimX));
SAME(offsetof(struct cuda_launch_config, shared_bytes), offsetof(CUlaunchConfig, sharedMemBytes));
SAME(offsetof(struct cuda_launch_config, stream), offsetof(CUlaunchConfig, hStream));
SAME(offsetof(struct cuda_launch_config, attributes), offsetof(CUlaunchConfig, attrs));
SAME(offsetof(struct cuda_launch_config, attribute_count), offsetof(CUlaunchConfig, numAttrs));
SAME(sizeof(struct cuda_launch_attribute), sizeof(CUlaunchAttribute));
SAME(offsetof(struct cuda_launch_attribute, value), offsetof(CUlaunchAttribute, value));
SAME(offsetof(struct cuda_launch_attribute, value.cluster.y),
     offsetof(CUlaunchAttribute, value.clusterDim.y));
SAME((int)CUDA_LAUNCH_CLUSTER, (int)CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION);
SAME((int)CUDA_MAX_THREADS_BLOCK, (int)CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK);
SAME((int)CUDA_MAX_GRID_X, (int)CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X);
SAME((int)CUDA_WARP_SIZE, (int)CU_DEVICE_ATTRIBUTE_WARP_SIZE);
SAME((int)CUDA_CLOCK_KHZ, (int)CU_DEVICE_ATTRIBUTE_CLOCK_RATE);
SAME((int)CUDA_PROCESSORS, (int)CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT);
SAME((int)CUDA_L2_BYTES, (int)CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE);
SAME((int)CUDA_MAX_THREADS_SM, (int)CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR);
SAME((int)CUDA_CC_MAJOR, (int)CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR);
SAME((int)CUDA_SHARED_SM, (int)CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR);
SAME((int)CUDA_REGISTERS_SM, (int)CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR);
SAME((int)CUDA_SHARED_BLOCK_OPTIN, (int)CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN);
SAME((int)CUDA_FUNC_MAX_DYNAMIC_SHARED, (int)CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES);
SAME((int)CUDA_FUNC_NON_PORTABLE_CLUSTER, (int)CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED);
/* activity.c */
#define RECORD(type)                         \
    SAME(offsetof(type, kind), 0);           \
    SAME(offsetof(type, start), 16);         \
    SAME(offsetof(type, end), 24);           \
    SAME(offsetof(type, gridX), 52);         \
    SAME(offsetof(type, blockZ), 72);        \
    SAME(offsetof(type, correlationId), 92); \
    SAME(offsetof(type, name), 104)
RECORD(CUpti_ActivityKernel9);
#if CUPTI_API_VERSION >= 130000
RECORD(CUpti_ActivityKernel10);
SAME(sizeof(CUpti_SubscriberParams), 32);
#endif
SAME(CUPTI_ACTIVITY_KIND_KERNEL, 3);
SAME(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, 10);
SAME(CUPTI_ERROR_MAX_LIMIT_REACHED, 12);
SAME(CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED, 39);
#endif

static void test_table(void **state)
{
    static const char *const names[] = {
#define CUDA_SYM(name, version, optional, arguments) #name,
#include "measure/cuda_syms.def"
#undef CUDA_SYM
    };
    assert_int_equal(sizeof(struct cuda_driver), (STAX_COUNT(names) + 1) * sizeof(void *));
    for (size_t i = 0; i < STAX_COUNT(names); i++) assert_memory_equal(names[i], "cu", 2);
}

int main(void)
{
#if !STAX_HAVE_CUDA_HEADERS
    print_message("no CUDA headers: types are not compared\n");
#endif
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_table)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
