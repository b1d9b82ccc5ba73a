/* Reading the fixed names of a space back, so that a stored space can be rebuilt with them; see
 * space.h. */
#include "base/space_impl.h"

int space_definitions(const struct space *space)
{
    return space->defines;
}

const char *space_definition(const struct space *space, int index, struct value *value)
{
    STAX_CHECK(index >= 0 && index < space->defines);
    *value = space->define[index].value;
    return space->define[index].name;
}
