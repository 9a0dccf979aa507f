#!/usr/bin/env bash
# Make a virtual environment with a recent pip from the newest Python ≥ 3.10 on this machine.
# Works without ensurepip (Debian splits it off): then the machine's own pip installs into the environment.
# Usage: venv.sh FOLDER        PYTHON=/path/to/python3 overrides the choice
set -euo pipefail
folder="${1:?usage: venv.sh FOLDER}"

recent() { "$1" -c 'import sys; sys.exit(sys.version_info < (3, 10))' 2>/dev/null; }

python=""
for candidate in "${PYTHON:-python3}" python3.13 python3.12 python3.11 python3.10 python; do
  if recent "$candidate"; then python="$candidate"; break; fi
done
[ -n "$python" ] || { echo "venv: no Python 3.10 or newer found; set PYTHON=/path/to/python3" >&2; exit 1; }

if "$python" -c 'import ensurepip, venv' 2>/dev/null; then
  "$python" -m venv "$folder"
else
  "$python" -m venv --without-pip "$folder"
  "$python" -m pip --python "$folder/bin/python" install --quiet pip
fi
"$folder/bin/python" -m pip install --quiet --upgrade 'pip>=25.1'   # --group needs 25.1
