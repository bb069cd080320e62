#!/bin/sh
# SPDX-License-Identifier: Apache-2.0 OR MIT
# Installs libperigee_cc: libraries, header, file of pkg-config. `make install` calls it.
#
# PREFIX (/usr/local), LIBDIR ($PREFIX/lib), DESTDIR (root of a package), BUILT (folder of libperigee_capi.*).
set -eu

here=$(cd "$(dirname "$0")" && pwd)
prefix=${PREFIX:-/usr/local}
libdir=${LIBDIR:-$prefix/lib}
root=${DESTDIR:-}
built=${BUILT:-${CARGO_TARGET_DIR:-$here/../../target}/release}
version=$(sed -n 's/^version = "\(.*\)"$/\1/p' "$here/../../Cargo.toml" | head -n 1)

for folder in "$prefix" "$libdir"; do
	case $folder in
	*[!A-Za-z0-9/._+~:@%,-]*)
		echo "PREFIX and LIBDIR have letters, digits and /._+~:@%,- only, as pkg-config wants: not $folder" >&2; exit 2 ;;
	/*) ;;
	*) echo "PREFIX and LIBDIR are absolute paths, not $folder" >&2; exit 2 ;;
	esac
done
if [ ! -f "$built/libperigee_capi.a" ]; then
	echo "$built has no library: build it with cargo build --release -p perigee-capi" >&2
	exit 2
fi

install -d "$root$libdir/pkgconfig" "$root$prefix/include"
install -m 644 "$here/include/perigee_cc.h" "$root$prefix/include/perigee_cc.h"
install -m 644 "$built/libperigee_capi.a" "$root$libdir/libperigee_cc.a"
if [ -f "$built/libperigee_capi.dylib" ]; then
	install -m 755 "$built/libperigee_capi.dylib" "$root$libdir/libperigee_cc.0.dylib"
	ln -sfn libperigee_cc.0.dylib "$root$libdir/libperigee_cc.dylib"
else
	install -m 755 "$built/libperigee_capi.so" "$root$libdir/libperigee_cc.so.$version"
	ln -sfn "libperigee_cc.so.$version" "$root$libdir/libperigee_cc.so.0"
	ln -sfn libperigee_cc.so.0 "$root$libdir/libperigee_cc.so"
fi
# Paths below the prefix are relative to it, so that the installed files can be moved.
case $libdir in
"$prefix"/*) written="\${prefix}${libdir#"$prefix"}" ;;
*) written=$libdir ;;
esac
cat > "$root$libdir/pkgconfig/perigee-cc.pc" <<EOF
prefix=$prefix
libdir=$written
includedir=\${prefix}/include

Name: perigee-cc
Description: Congestion controls of Perigee for C
Version: $version
Libs: -L\${libdir} -lperigee_cc
Libs.private: -lgcc_s -lpthread -ldl -lm
Cflags: -I\${includedir}
EOF
chmod 644 "$root$libdir/pkgconfig/perigee-cc.pc"
echo "libperigee_cc $version is in $root$libdir"
