/* SPDX-License-Identifier: Apache-2.0 OR MIT */
#ifndef PERIGEE_GUEST_H
#define PERIGEE_GUEST_H

#include "../agent.h"

/* Root folder of programs */
#define WORLD "/world"

#endif
