#!/usr/bin/env bash
# Test treelet on Linux for ARM without such a machine: tools/arm.sh FOLDER PYTHON JOBS, called by make arm.
#
# FOLDER/root receives Debian 12 for arm64, in which qemu emulates the processor. The core is built with a cross compiler.
# The folder also receives tests.txt, and bits.npz for make bits. What only root may do, and what is not installed, is
# said, and then the script ends without an error.
set -euo pipefail
folder=$1 python=$2 jobs=$3
root=$folder/root
suite=bookworm
tests="tests/native tests/kernels tests/edits tests/structures tests/parsing tests/learn/test_persist.py"

skip() { echo "make arm: skipped, because $1"; exit 0; }
step() { printf '%s  %s\n' "$(date -u +%T)" "$1"; }

test "$(uname -s)" = Linux || skip "it needs Linux."
test "$(uname -m)" != aarch64 || skip "this is such a machine: run make test."
test "$(id -u)" = 0 || skip "only root may create a system in a folder. Run sudo make arm."
packages="debootstrap qemu-user-static g++-aarch64-linux-gnu"
if ! dpkg -s $packages >/dev/null 2>&1; then
	step "install $packages"
	command -v apt-get >/dev/null || skip "there is no apt-get to install $packages."
	export DEBIAN_FRONTEND=noninteractive
	{ apt-get update -qq && apt-get install -qq -y --no-install-recommends $packages; } >/dev/null 2>&1 \
		|| skip "apt-get could not install $packages."
fi

# The kernel starts programs for ARM with qemu. F opens qemu now, so it is also found from inside the folder.
binfmt=/proc/sys/fs/binfmt_misc
ends=()
trap 'for end in "${ends[@]}"; do eval "$end"; done' EXIT
if ! test -e $binfmt/status; then
	mount -t binfmt_misc binfmt_misc $binfmt 2>/dev/null || skip "binfmt_misc cannot be mounted, so the kernel cannot start qemu."
	ends=("umount $binfmt" "${ends[@]}")
fi
if ! test -e $binfmt/qemu-aarch64; then
	magic='\x7fELF\x02\x01\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00\x02\x00\xb7\x00'
	mask='\xff\xff\xff\xff\xff\xff\xff\x00\xff\xff\xff\xff\xff\xff\xff\xff\xfe\xff\xff\xff'
	echo ":qemu-aarch64:M::$magic:$mask:$(command -v qemu-aarch64-static):F" > $binfmt/register || skip "the kernel does not accept qemu."
	ends=("echo -1 > $binfmt/qemu-aarch64" "${ends[@]}")
fi

# Mounts of these commands are their own, so that none remains.
inside() {
	unshare --mount --pid --fork --kill-child bash -c 'mount -t proc proc "$0/proc"; mount -t tmpfs shm "$0/dev/shm"; cd "$0"; exec chroot "$0" "${@}"' "$root" "$@"
}

if ! test -e "$folder/.stamp-root"; then
	rm -rf "$root" && mkdir -p "$folder"
	step "debootstrap: Debian $suite for arm64"
	debootstrap --arch arm64 --foreign --variant minbase --include=python3,libpython3-dev,ca-certificates $suite "$root" > "$folder/debootstrap.log" 2>&1 \
		|| skip "debootstrap found no packages. See $folder/debootstrap.log."
	step "second stage"
	mkdir -p "$root/dev/shm"
	chroot "$root" /debootstrap/debootstrap --second-stage >> "$folder/debootstrap.log" 2>&1
	touch "$folder/.stamp-root"
fi

if ! test "$folder/.stamp-packages" -nt pyproject.toml; then
	step "packages of Python"
	version=$(chroot "$root" python3 -c 'import sys; print("%d.%d" % sys.version_info[:2])')
	wheels=$("$python" -c 'import tomllib
project = tomllib.load(open("pyproject.toml", "rb"))["project"]
extras = project["optional-dependencies"]
print(*(name.replace(" ", "") for name in project["dependencies"] + extras["code"] + extras["pandas"] + extras["nlp"] + extras["html"]))')
	rm -rf "$root/packages"
	"$python" -m pip install -q --target "$root/packages" --python-version "$version" --only-binary :all: \
		--platform manylinux2014_aarch64 --platform manylinux_2_27_aarch64 --platform manylinux_2_28_aarch64 \
		$wheels pytest hypothesis pytest-xdist
	touch "$folder/.stamp-packages"
fi

step "build the core"
include=$(echo "$root"/usr/include/python3.*)
suffix=$(chroot "$root" python3 -c 'import sysconfig; print(sysconfig.get_config_var("EXT_SUFFIX"))')
cmake=$(dirname "$python")/cmake
"$cmake" -S . -B "$folder/work" -G Ninja -DCMAKE_MAKE_PROGRAM="$(dirname "$python")/ninja" -DCMAKE_SYSTEM_NAME=Linux -DCMAKE_SYSTEM_PROCESSOR=aarch64 \
	-DCMAKE_CXX_COMPILER=aarch64-linux-gnu-g++ -DCMAKE_CXX_FLAGS="-idirafter $root/usr/include" -DCMAKE_BUILD_TYPE=Release \
	-DPython_EXECUTABLE="$python" -DPython_INCLUDE_DIR="$include" \
	-Dnanobind_DIR="$("$python" -m nanobind --cmake_dir)" > "$folder/cmake.log"
"$cmake" --build "$folder/work" >> "$folder/cmake.log" || { tail -50 "$folder/cmake.log"; exit 1; }

# The tests run on a copy: nothing in the checkout is changed, and no folder of it is mounted.
rm -rf "$root/treelet" && mkdir "$root/treelet"
cp -r src tests tools native experiments docs pyproject.toml CMakeLists.txt README.md "$root/treelet"
rm -f "$root"/treelet/src/treelet/_core*.so
cp "$(ls "$folder"/work/_core*.so)" "$root/treelet/src/treelet/_core$suffix" # nanobind gives it the suffix of this machine

set +e
export PYTHONPATH=/treelet/src:/packages OMP_NUM_THREADS=1 PYTHONDONTWRITEBYTECODE=1 PATH=/usr/bin:/bin:/usr/sbin:/sbin HOME=/root LC_ALL=C.UTF-8
step "values of all kernels, for make bits"
inside /bin/sh -c 'cd /treelet && python3 tools/bits.py --save /bits.npz' && mv "$root/bits.npz" "$folder/bits.npz"
bits=$?
step "$tests"
inside /bin/sh -c "cd /treelet && python3 -m pytest -q -p no:cacheprovider -n $jobs -m 'not slow and not serial' $tests" 2>&1 | tee "$folder/tests.txt"
failed=${PIPESTATUS[0]}
step "done"
test "$failed" = 0 && test "$bits" = 0
