"""Draws the README's picture: the times of the recorded run of hpcc in examples over each backend.

usage: draw-hpcc.py OFFRAMP PICTURE.svg
"""

import json
import math
import os
import subprocess
import sys

RECORDING = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "examples/hpcc/hpcc.rec")


def picture(ranks, rows):
    """Bars over a logarithmic scale: backend, milliseconds."""
    low = math.floor(math.log10(min(ms for _, ms in rows)))
    high = math.ceil(math.log10(max(ms for _, ms in rows)))
    height = 128 + 34 * len(rows)
    text = "; ".join(f"{name} {ms:.0f} ms" for name, ms in rows)
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 760 {height}" role="img" font-family="system-ui, '
           'sans-serif" font-size="14">', f"<title>Modelled communication time of hpcc on {ranks} ranks: {text}</title>",
           "<style>svg{color:#1f2328;background:#fbfbf8}@media(prefers-color-scheme:dark)"
           "{svg{color:#e6e6e6;background:#1b1b1b}}</style>", '<g fill="currentColor">',
           f'<text x="24" y="34" font-size="16" font-weight="bold">HPC Challenge (hpcc), {ranks} ranks</text>',
           '<text x="24" y="56" opacity=".7">modelled communication time over each backend (logarithmic)</text>']
    for power in range(low, high + 1):
        x = 100 + 560 * (power - low) / (high - low)
        out.append(f'<path d="M{x:.0f} 74V{height - 44}" stroke="currentColor" stroke-opacity=".15"/>'
                   f'<text x="{x:.0f}" y="{height - 24}" text-anchor="middle" opacity=".7">{10 ** power:g} ms</text>')
    for i, (name, ms) in enumerate(rows):
        y = 82 + 34 * i
        width = 560 * (math.log10(ms) - low) / (high - low)
        out.append(f'<text x="24" y="{y + 16}" font-weight="bold">{name}</text>'
                   f'<rect x="100" y="{y}" width="{width:.1f}" height="22" fill="#2f6f9f"/>'
                   f'<text x="{108 + width:.1f}" y="{y + 16}">{ms:.0f} ms</text>')
    return "\n".join([*out, "</g>", "</svg>", ""])


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    plain = {name: value for name, value in os.environ.items() if not name.startswith("OFFRAMP_")}
    line = [os.path.abspath(sys.argv[1]), "replay", RECORDING, "--compare", "all", "--json"]
    done = subprocess.run(line, cwd="/", env=plain, stdout=subprocess.PIPE, text=True, check=True)  # a folder without offramp.toml
    told = json.loads(done.stdout)
    with open(sys.argv[2], "w", encoding="utf-8") as file:
        file.write(picture(told["ranks"], [(result["backend"], result["modelled_time_ps"] / 1e9) for result in told["results"]]))


main()
