/* The version of the HDF5 library this program carries. */
#include <stdio.h>

#include <hdf5.h>

#include "results/results.h"

const char *db_library_version(void)
{
    static char text[32];
    unsigned major = 0, minor = 0, release = 0;
    if (H5get_libversion(&major, &minor, &release) < 0) return "unknown";
    snprintf(text, sizeof text, "%u.%u.%u", major, minor, release);
    return text;
}
