#!/usr/bin/env bash
# The main job on real input: all shortest paths between the 1626 road junctions of Liechtenstein,
# on 4 ranks, checked against a serial run. Needs a finished build; `./run demo` sees to that.
# Further arguments go to asp, for example: ./run demo --query Ruggell Malbun
set -euo pipefail
cd -- "$(dirname -- "${BASH_SOURCE[0]}")/../.."

timeline=build/asp-timeline.json
command=(build/bin/esp-run -n 4 build/bin/asp examples/data/liechtenstein.gr --unit m
  --self-check --query Ruggell Balzers --timeline "$timeline" "$@")

for program in build/bin/esp-run build/bin/asp; do
  if [[ ! -x $program ]]; then
    echo "demo: $program is missing; './run build' makes it" >&2
    exit 1
  fi
done

printf '$'
printf ' %q' "${command[@]}"
printf '\n\n'
"${command[@]}"

cat << END

The timeline shows what each rank did when: open https://ui.perfetto.dev (or chrome://tracing) in
a browser and drag $timeline into it.
The roads: (c) OpenStreetMap contributors, Open Database License; see examples/data/README.md.
END
