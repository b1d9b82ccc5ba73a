#!/usr/bin/env python3
"""Compares tuned kernels with torch.compile on one GPU, interleaved: rounds of (ours, theirs) in the same minute, same L2 state.

Device time of a call is the sum of its kernels, from CUPTI on both sides (torch.profiler reads the same activity records). Ratios below 1 mean that
ours is faster. Usage: compare_torch.py STAX_TUNE OUT.json [--rounds N] [--only NAME,...] [--strategy S] [--budget B] [--large]
"""
import argparse
import json
import os
import statistics
import subprocess
import sys
import time

import torch
import torch.nn.functional as F

# name, kernel, command-line shapes, torch function, torch inputs; the listing sizes first
def gelu_bwd(g, h):
    cdf = 0.5 * (1 + torch.erf(h * 0.7071067811865476))
    return g * (cdf + h * (torch.exp(-0.5 * h * h) * 0.3989422804014327))


def rand(*shape):
    return torch.rand(shape, device="cuda") * 2 - 1


CASES = [
    ("per_fused 64x128", ["per_fused"], lambda x, y: (F.relu(x + y) * 2).sum(-1), lambda: (rand(64, 128), rand(64, 128))),
    ("poi_fused 256x512", ["poi_fused"], lambda x, y: x.t() + y, lambda: (rand(512, 256), rand(256, 512))),
    ("gelu_backward 2048", ["gelu_backward"], gelu_bwd, lambda: (rand(), rand(2048))),
    ("red_fused 64x16384", ["red_fused"], lambda x: (x * x).sum(-1), lambda: (rand(64, 16384),)),
    ("softmax 256x1000", ["softmax"], lambda x: F.softmax(x, -1), lambda: (rand(256, 1000),)),
]
LARGE = [
    ("per_fused 65536x1024", ["per_fused", "--arg", "x=f32[65536,1024]", "--arg", "y=f32[65536,1024]"],
     lambda x, y: (F.relu(x + y) * 2).sum(-1), lambda: (rand(65536, 1024), rand(65536, 1024))),
    ("poi_fused 8192x8192", ["poi_fused", "--arg", "x=f32[8192,8192]", "--arg", "y=f32[8192,8192]"],
     lambda x, y: x.t() + y, lambda: (rand(8192, 8192), rand(8192, 8192))),
    ("gelu_backward 67108864", ["gelu_backward", "--arg", "h=f32[67108864]"], gelu_bwd, lambda: (rand(), rand(67108864))),
    ("red_fused 4096x4096", ["red_fused", "--arg", "x=f32[4096,4096]"], lambda x: (x * x).sum(-1), lambda: (rand(4096, 4096),)),
    ("red_fused 1x67108864", ["red_fused", "--arg", "x=f32[1,67108864]"], lambda x: (x * x).sum(-1), lambda: (rand(1, 67108864),)),
    ("softmax 32768x1024", ["softmax", "--arg", "x=f32[32768,1024]"], lambda x: F.softmax(x, -1), lambda: (rand(32768, 1024),)),
    ("layer_norm 16384x4096", ["layer_norm", "--arg", "x=f32[16384,4096]", "--arg", "w=f32[4096]", "--arg", "b=f32[4096]"],
     lambda x, w, b: F.layer_norm(x, (4096,), w, b), lambda: (rand(16384, 4096), rand(4096), rand(4096))),
]


class Peer:
    """torch.compile, default and max (max_autotune with coordinate descent), timed by the profiler after a clean L2 flush (a read)."""

    def __init__(self, function, inputs):
        self.inputs = inputs
        self.modes = {}
        for mode in ("compile", "max"):
            torch._dynamo.reset()
            options = {} if mode == "compile" else {"max_autotune": True, "coordinate_descent_tuning": True}
            start = time.time()
            compiled = torch.compile(function, options=options)
            compiled(*inputs)
            torch.cuda.synchronize()
            self.modes[mode] = (compiled, time.time() - start)
        self.flush = torch.rand(64 << 20, device="cuda")  # 256 MB, read

    def kernels(self, body, calls):
        """Kernels of `calls` calls of body in the order of their start, as (start, us)."""
        with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CUDA]) as profile:
            for _ in range(calls):
                body()
            torch.cuda.synchronize()
        events = [e for e in profile.events() if e.device_type == torch.autograd.DeviceType.CUDA]
        return sorted((e.time_range.start, e.time_range.elapsed_us()) for e in events)

    def measure(self, mode, calls=30):
        """Median over calls of the sum of a call's kernels. Kernels are told apart by their place in a call, never by name: after modules
        are unloaded CUPTI gives new kernels old names."""
        compiled = self.modes[mode][0]

        def both():
            self.flush.amax()
            compiled(*self.inputs)

        for _ in range(3):
            both()
        torch.cuda.synchronize()
        flushes = len(self.kernels(self.flush.amax, calls))
        events = self.kernels(both, calls)
        if flushes % calls or len(events) % calls:
            raise RuntimeError(f"{len(events)} kernels in {calls} calls, {flushes} of flushes: some were not recorded")
        call, flush = len(events) // calls, flushes // calls
        return statistics.median(sum(us for _, us in events[c * call + flush:(c + 1) * call]) for c in range(calls))


def stax(args, *more):
    result = subprocess.run(args + list(more), capture_output=True, text=True, timeout=300)
    if result.returncode != 0:
        sys.exit(f"{' '.join(args + list(more))}: exit {result.returncode}: {result.stderr[-600:]}")
    return json.loads(result.stdout)


def one_case(name, kernel, function, inputs, options):
    peer = Peer(function, inputs())
    base = [options.stax, "--db", options.db, "--json", "-", "--quiet", "--device", "cuda"]
    started = time.time()
    tuned = stax(base, "--kernel", *kernel, "--strategy", options.strategy, "--budget", options.budget)
    tune_s = time.time() - started
    config = ",".join(f"{k}={v}" for k, v in tuned["best"]["config"].items())
    ours, spans, theirs = [], [], {"compile": [], "max": []}
    for _ in range(options.rounds):
        bench = stax(["/usr/bin/env", options.stax, "bench", "--json", "-", "--quiet", "--device", "cuda", "--calls", "51"],
                     "--kernel", *kernel, "--config", config)
        ours.append(bench["sum_us"])
        spans.append(bench["time_us"])
        for mode in theirs:
            theirs[mode].append(peer.measure(mode))
    row = {"case": name, "config": config, "tune_s": tune_s, "default_us": tuned["default"]["time_us"],
           "best_us": tuned["best"]["time_us"], "trials": tuned["trials"], "ours_sum_us": ours, "ours_span_us": spans,
           "compile_us": theirs["compile"], "max_us": theirs["max"], "compile_s": peer.modes["compile"][1],
           "max_s": peer.modes["max"][1]}
    row["ratio_max"] = statistics.median([a / b for a, b in zip(ours, theirs["max"])])
    row["ratio_compile"] = statistics.median([a / b for a, b in zip(ours, theirs["compile"])])
    print(f"{name:26s} ours {statistics.median(ours):9.3f} (span {statistics.median(spans):9.3f})  compile "
          f"{statistics.median(theirs['compile']):9.3f}  max {statistics.median(theirs['max']):9.3f}  ratio to max "
          f"{row['ratio_max']:.3f} [{min(a / b for a, b in zip(ours, theirs['max'])):.3f}, "
          f"{max(a / b for a, b in zip(ours, theirs['max'])):.3f}]  tune {tune_s:.1f} s  max-autotune {peer.modes['max'][1]:.1f} s", flush=True)
    return row


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("stax")
    parser.add_argument("out")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--only", default="")
    parser.add_argument("--strategy", default="hyperband")
    parser.add_argument("--budget", default="30s")
    parser.add_argument("--db", default="/tmp/compare.h5")
    parser.add_argument("--large", action="store_true")
    options = parser.parse_args()
    rows = []
    for case in CASES + (LARGE if options.large else []):
        if options.only and not any(case[0].startswith(o) for o in options.only.split(",")):
            continue
        try:
            rows.append(one_case(*case, options))
        except Exception as error:  # one failing case must not lose the others
            print(f"{case[0]}: {error!r}", flush=True)
        with open(options.out, "w") as file:
            json.dump(rows, file, indent=1)


if __name__ == "__main__":
    os.environ.setdefault("TORCHINDUCTOR_CACHE_DIR", "/tmp/inductor")
    main()
