/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* End of the loader with a message. */
#ifndef LOADER_FAIL_H
#define LOADER_FAIL_H

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

__attribute__((noreturn, format(printf, 1, 2))) static void fail(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	fputs("orbcc: ", stderr);
	vfprintf(stderr, format, args);
	fputc('\n', stderr);
	va_end(args);
	exit(2);
}

#endif
