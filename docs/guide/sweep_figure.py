"""Draws a figure from the table of a sweep: a panel for each load, a curve for each scheme.

    python3 sweep_figure.py results/cells.parquet figure.png
"""

import sys

import matplotlib
import polars as pl

matplotlib.use("Agg")
import matplotlib.pyplot as plt

table, figure = sys.argv[1:3]
metric, label = "fct_p99_ns", "p99 completion time (µs)"

cells = pl.read_parquet(table)
failed = cells.filter(pl.col("error").is_not_null())
if failed.height:
    sys.exit(f"{failed.height} cells have no result: {failed['error'][0]}")

# All seeds of a point have the same mean and interval.
points = cells.unique("point", keep="first", maintain_order=True)
loads = points["load"].unique().sort()

plt.rcParams.update({"font.size": 8, "axes.spines.top": False, "axes.spines.right": False})
drawing, panels = plt.subplots(1, len(loads), figsize=(7.0, 2.4), sharey=True, layout="constrained")
for load, panel in zip(loads, panels):
    here = points.filter(pl.col("load") == load)
    for scheme, marker in zip(here["scheme"].unique(maintain_order=True), "os^Dvx"):
        curve = here.filter(pl.col("scheme") == scheme).sort("loss")
        mean, low, high = (curve[f"{metric}_{what}"].to_numpy() / 1e3 for what in ("mean", "low", "high"))
        panel.errorbar(
            curve["loss"], mean, yerr=[mean - low, high - mean], label=scheme, marker=marker,
            markersize=3, linewidth=1, elinewidth=0.7, capsize=1.5,
        )
    panel.set(title=f"load {load}", xlabel="loss of a link", xscale="log", yscale="log")
    panel.grid(axis="y", linewidth=0.3)
panels[0].set_ylabel(label)
panels[0].legend(frameon=False)
drawing.savefig(figure, dpi=120, metadata={"Software": None})
