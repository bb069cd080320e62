#!/bin/sh
# SPDX-License-Identifier: Apache-2.0 OR MIT
# Debian packages of libperigee_cc, made by dpkg-deb: libperigee-cc0 and libperigee-cc-dev. `make deb` calls it.
#
# OUT (build/deb), BUILT (folder of libperigee_capi.*).
set -eu

here=$(cd "$(dirname "$0")" && pwd)
out=${OUT:-$here/../../build/deb}
version=$(sed -n 's/^version = "\(.*\)"$/\1/p' "$here/../../Cargo.toml" | head -n 1)
if ! command -v dpkg-deb > /dev/null; then
	echo "dpkg-deb makes the packages, and is not installed" >&2
	exit 2
fi
arch=$(dpkg --print-architecture)
triplet=$(${CC:-cc} -print-multiarch 2> /dev/null || true)
libdir=/usr/lib${triplet:+/$triplet}

mkdir -p "$out"
work=$(mktemp -d "$out/tree.XXXXXX")
trap 'rm -rf "$work"' EXIT
dev=$work/dev run=$work/run
DESTDIR=$dev PREFIX=/usr LIBDIR=$libdir "$here/install.sh" > /dev/null
mkdir -p "$run$libdir" "$run/DEBIAN" "$dev/DEBIAN"
mv "$dev$libdir/libperigee_cc.so.$version" "$dev$libdir/libperigee_cc.so.0" "$run$libdir"
strip --strip-unneeded "$run$libdir/libperigee_cc.so.$version"
strip --strip-debug "$dev$libdir/libperigee_cc.a"

# Symbols of the C library that the shared library needs, at most.
glibc=$(objdump -T "$run$libdir/libperigee_cc.so.$version" | sed -n 's/.*(GLIBC_\([0-9.]*\)).*/\1/p' | sort -V | tail -n 1)
package() { # ROOT NAME SECTION DEPENDS DESCRIPTION
	mkdir -p "$1/usr/share/doc/$2"
	cat "$here/../../LICENSE-APACHE" "$here/../../LICENSE-MIT" > "$1/usr/share/doc/$2/copyright"
	cat > "$1/DEBIAN/control" <<EOF
Package: $2
Version: $version
Architecture: $arch
Multi-Arch: same
Section: $3
Priority: optional
Maintainer: The Perigee authors <noreply@invalid>
Depends: $4
Installed-Size: $(du -sk --exclude=DEBIAN "$1" | cut -f 1)
Description: $5
 The congestion controls of Perigee, a laboratory for transport protocols,
 as state machines for any QUIC or TCP stack.
EOF
	(cd "$1" && find usr -type f -exec md5sum {} + > DEBIAN/md5sums)
	chmod -R u=rwX,go=rX "$1"
	dpkg-deb --root-owner-group --build "$1" "$out/$2_${version}_$arch.deb"
}
echo "activate-noawait ldconfig" > "$run/DEBIAN/triggers"
package "$run" libperigee-cc0 libs "libc6 (>= ${glibc:-2.17}), libgcc-s1" "congestion controls of Perigee for C"
package "$dev" libperigee-cc-dev libdevel "libperigee-cc0 (= $version)" "congestion controls of Perigee for C (development)"
