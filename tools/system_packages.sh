#!/usr/bin/env bash
# Installs, through apt, the programs named on the command line that are missing: `system_packages.sh cc java mvn`.
# Does nothing when all are there; says what to do when it may not install.
set -eu
declare -A package=(
  [cc]=gcc [java]=default-jdk-headless [javac]=default-jdk-headless [mvn]=maven [strace]=strace [kcat]=kcat
  [venv]=python3-venv [headers]=python3-dev
)
missing=()
for tool in "$@"; do
  case $tool in
    venv) python3 -c 'import ensurepip' 2>/dev/null || missing+=("${package[$tool]}") ;;
    headers)
      python3 -c 'import os, sysconfig, sys; sys.exit(not os.path.exists(os.path.join(sysconfig.get_path("include"), "Python.h")))' ||
        missing+=("${package[$tool]}") ;;
    *) command -v "$tool" >/dev/null || missing+=("${package[$tool]}") ;;
  esac
done
[ ${#missing[@]} -eq 0 ] && exit 0
echo "Installing: ${missing[*]}"
sudo=""
[ "$(id -u)" -eq 0 ] || sudo="sudo"
if ! command -v apt-get >/dev/null || { [ -n "$sudo" ] && ! command -v sudo >/dev/null; }; then
  echo "Please install these packages and try again: ${missing[*]}" >&2
  exit 1
fi
$sudo apt-get update -qq
DEBIAN_FRONTEND=noninteractive $sudo apt-get install -y -qq --no-install-recommends "${missing[@]}"
