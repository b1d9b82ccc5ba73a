#!/usr/bin/env python3
"""Made-up search landscapes over real configurations, to choose and check settings of strategies on.

    landscapes.py CACHE_FOLDER OUT_FOLDER SEED [SEED ...]

reads convolution-{A100,A4000}.json.gz and dedispersion-{A100,A4000}.json.gz (Kernel Tuner caches) and writes, for each
seed, one cache for each row of PROFILES: the same configurations, failures and compile times, with times from a random
sum of hinges over sizes, products and quotients of the parameters, blended with the recorded times, and stretched so that
the 95 % target of the published method lies as far above the optimum, and is met by as many configurations, as it does on
the recorded space of that device (the two numbers of a row). Settings of `auto` were chosen on seeds 1 to 3 and checked
on 4 to 6.
"""
import gzip
import json
import math
import random
import sys

# name: kernel, distance of the target from the optimum, configurations that meet it, optimum in ms (chosen)
PROFILES = {
    "cA6000": ("convolution", 0.124, 9, 1.0),
    "cMI": ("convolution", 1.46, 83, 1.0),
    "cW66": ("convolution", 1.55, 516, 1.7),
    "cW78": ("convolution", 0.34, 104, 1.0),
    "dA6000": ("dedispersion", 0.006, 27, 100.0),
    "dMI": ("dedispersion", 0.069, 29, 100.0),
    "dW66": ("dedispersion", 0.018, 3, 100.0),
    "dW78": ("dedispersion", 0.027, 9, 100.0),
}
SWITCHES = {
    "convolution": ("read_only", "use_padding", "use_shmem"),
    "dedispersion": ("tile_stride_x", "tile_stride_y"),
}
HINGES = 5
SLOWEST = 4  # the slowest time over the median


def sizes(config):
    """Logarithms of what a kernel's speed tends to depend on."""
    bx, by, tx, ty = (math.log2(config[k]) for k in ("block_size_x", "block_size_y", "tile_size_x", "tile_size_y"))
    return [bx, by, tx, ty, bx + by, tx + ty, bx + tx, by + ty, bx + by + tx + ty, bx - by, tx - ty, bx + tx - by - ty]


def heights(kernel, valid, seed):
    """A random landscape: configuration key -> height."""
    rng = random.Random(seed * 1000)
    size = {key: sizes(entry) for key, entry in valid.items()}
    switch = {key: [entry[name] for name in SWITCHES[kernel]] for key, entry in valid.items()}
    width, switches = len(next(iter(size.values()))), len(SWITCHES[kernel])
    hinges = []
    for _ in range(HINGES):
        i = rng.randrange(width)
        ordered = sorted(row[i] for row in size.values())
        bend = ordered[int(rng.uniform(0.15, 0.85) * len(ordered))]
        hinges.append((i, bend, rng.choice([-1, 1]), rng.uniform(0.2, 1), rng.randrange(-1, switches), rng.randrange(2)))
    weight = [rng.uniform(-0.3, 0.3) for _ in range(switches)]
    recorded = {key: math.log(entry["time"]) for key, entry in valid.items()}
    ordered = sorted(recorded.values())
    least, spread = ordered[0], ordered[len(ordered) // 2] - ordered[0]
    blend = 1.0 if seed % 3 else 0.3
    out = {}
    for key in valid:
        z = blend * (recorded[key] - least) / spread
        for i, bend, sign, slope, which, value in hinges:
            if which < 0 or switch[key][which] == value:
                z += slope * max(0, sign * (size[key][i] - bend))
        z += sum(w * s for w, s in zip(weight, switch[key]))
        out[key] = z + rng.gauss(0, 0.03)
    return out


def factors(height, target, meeting):
    """Heights -> times over the optimum, with the wanted median (20 targets away) and number that meet the target."""
    ordered = sorted(height.values())
    floor = ordered[0] - 0.01
    median = 1 + 20 * target
    power = math.log(math.log(median) / math.log(1 + target))
    power /= math.log((ordered[len(ordered) // 2] - floor) / (ordered[meeting - 1] - floor))
    scale = math.log(median) / (ordered[len(ordered) // 2] - floor) ** power
    middle, top = math.log(median), scale * (ordered[-1] - floor) ** power
    out = {}
    for key, z in height.items():
        y = scale * (z - floor) ** power
        if y > middle:
            y = middle + (y - middle) * min(1, math.log(SLOWEST) / (top - middle))
        out[key] = math.exp(y)
    return out


def make(folder, out, name, seed):
    kernel, target, meeting, optimum = PROFILES[name]
    device = "A4000" if seed % 2 else "A100"
    with gzip.open(f"{folder}/{kernel}-{device}.json.gz") as file:
        cache = json.load(file)
    valid = {k: e for k, e in cache["cache"].items() if isinstance(e["time"], (int, float))}
    factor = factors(heights(kernel, valid, seed), target, meeting)
    for key, entry in valid.items():
        time = optimum * factor[key]
        entry["times"] = [t / entry["time"] * time for t in entry["times"]]
        entry["time"] = time
        entry["benchmark_time"] = sum(entry["times"])
    with open(f"{out}/{name}-{seed}.json", "w") as file:
        json.dump(cache, file)


def main():
    if len(sys.argv) < 4:
        sys.exit(__doc__.strip())
    for seed in map(int, sys.argv[3:]):
        for name in PROFILES:
            make(sys.argv[1], sys.argv[2], name, seed)


if __name__ == "__main__":
    main()
