"""What the demo shows: progress while it runs, then proof, tables, a chart, and what to try next."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pyspark.sql import DataFrame
from pyspark.sql import functions as f
from rich.console import Console
from rich.table import Table

if TYPE_CHECKING:
    from demo_events import Shop
    from orders_pipeline import OrdersPipeline

COLORS = {"coffee": "#6f4e37", "tea": "#4f8f5b", "chocolate": "#b5651d", "equipment": "#4a6fa5"}

NEXT = {
    ".venv/bin/tidelog serve --data-dir demo-output/data": "the same broker, with all its topics",
    ".venv/bin/tidelog log dump demo-output/data/orders-0": "what a partition's files hold",
    ".venv/bin/python examples/orders_pipeline.py 127.0.0.1:9092 demo-output": "the pipeline goes on where it stopped",
    "examples/orders_pipeline.py, docs/guide/spark.md": "a hundred lines to copy from, and what they mean",
}


def progress_table(shop: Shop, queries: list[Any]) -> Table:
    table = Table(title=f"{shop.sent['orders'] + shop.sent['broken']:,} orders and {shop.sent['clicks']:,} clicks sent")
    for name, side in (
        ("query", "left"),
        ("batches", "right"),
        ("rows", "right"),
        ("rows/s", "right"),
        ("ms", "right"),
    ):
        table.add_column(name, justify=side)  # type: ignore[arg-type]  # one of rich's words
    for query in queries:
        done = query.recentProgress
        rows = sum(progress["numInputRows"] for progress in done)
        last = done[-1] if done else None
        rate = f"{last['processedRowsPerSecond']:,.0f}" if last and last["numInputRows"] else "–"
        took = str(last["durationMs"].get("triggerExecution", "–")) if last else "–"
        table.add_row(query.name, str(len(done)), f"{rows:,}", rate, took)
    return table


class Report:
    """Reads the pipeline's results back from its topics and files."""

    def __init__(self, console: Console, pipeline: OrdersPipeline, shop: Shop, home: Path, data: Path | None) -> None:
        self.console, self.pipeline, self.shop, self.home, self.data = console, pipeline, shop, home, data
        self.spark = pipeline.spark

    def show(self) -> str | None:
        """All of it; what is wrong with the result, if anything is."""
        self.console.print()
        minutes = self._minutes()
        self._revenue(minutes)
        self._dead_letters()
        self._conversion()
        problem = self._proof()
        self._chart(minutes)
        self._next()
        return problem

    def _json(self, topic: str, schema: str) -> DataFrame:
        rows = self.pipeline.table(topic).select(
            "key", "offset", f.from_json(f.col("value").cast("string"), schema).alias("r")
        )
        return rows.select("key", "offset", "r.*")

    def _minutes(self) -> list[Any]:
        """The newest value of each window: what compaction will leave of the topic."""
        rows = self._json("revenue-per-minute", "minute timestamp, category string, orders long, revenue double")
        newest = rows.groupBy("key").agg(
            f.max_by(f.struct("minute", "category", "orders", "revenue"), "offset").alias("n")
        )
        return newest.select("n.*", f.unix_timestamp("n.minute").alias("at")).orderBy("minute", "category").collect()

    def _revenue(self, minutes: list[Any]) -> None:
        table = Table(title="Revenue (topic revenue-per-minute)")
        for name in ("category", "orders", "revenue", "best minute"):
            table.add_column(name, justify="left" if name == "category" else "right")
        for category in sorted({row.category for row in minutes}):
            mine = [row for row in minutes if row.category == category]
            best = max(mine, key=lambda row: row.revenue)
            total = sum(row.revenue for row in mine)
            table.add_row(
                category,
                f"{sum(row.orders for row in mine):,}",
                f"{total:,.2f}",
                f"{best.minute:%H:%M} ({best.revenue:,.0f})",
            )
        self.console.print(table)

    def _dead_letters(self) -> None:
        rows = self._json("dead-letters", "reason string, original string")
        found = (
            rows.groupBy("reason").agg(f.count("*").alias("n"), f.first("original").alias("example")).orderBy("reason")
        )
        table = Table(title="Dead letters (topic dead-letters)")
        table.add_column("reason", no_wrap=True)
        table.add_column("records", justify="right", no_wrap=True)
        table.add_column("for example", overflow="ellipsis", no_wrap=True, max_width=40)
        for row in found.collect():
            table.add_row(row.reason, str(row.n), row.example)
        self.console.print(table)

    def _conversion(self) -> None:
        """Clicks, straight from the broker's log files: no broker is asked."""
        if self.data is None:
            return
        reader = self.spark.read.format("tidelog").option("mode", "segments").option("subscribe", "clicks")
        clicks = reader.load(str(self.data)).select(f.from_json(f.col("value").cast("string"), "sku string").alias("c"))
        joined = clicks.select("c.sku").join(f.broadcast(self.pipeline.products()), "sku")
        table = Table(title="Most clicked (log files)")
        table.add_column("product")
        table.add_column("clicks", justify="right")
        for row in joined.groupBy("name").count().orderBy(f.desc("count"), "name").limit(5).collect():
            table.add_row(row.name, f"{row['count']:,}")
        self.console.print(table)

    def _proof(self) -> str | None:
        sent, broken = self.shop.sent["orders"], self.shop.sent["broken"]
        enriched = self._json("orders-enriched", "order_id string")
        in_topic = enriched.selectExpr("count(*) n", "count(distinct order_id) d").collect()[0]
        files = self.spark.read.parquet(str(self.home / "orders.parquet"))
        in_files = files.selectExpr("count(*) n", "count(distinct order_id) d").collect()[0]
        letters = self.pipeline.table("dead-letters").count()
        right = (in_topic.n, in_topic.d, in_files.n, in_files.d, letters) == (sent, sent, sent, sent, broken)
        mark = "[bold green]✓ exactly once" if right else "[bold red]✗ NOT exactly once"
        self.console.print(
            f"{mark}[/]: {sent:,} good orders sent, {in_topic.n:,} in orders-enriched ({in_topic.d:,} distinct), "
            f"{in_files.n:,} in Parquet ({in_files.d:,} distinct); {broken} broken sent, {letters} dead letters; "
            f"{self.shop.sent['late']} came late"
        )
        return None if right else "the result is wrong"

    def _chart(self, minutes: list[Any]) -> None:
        import matplotlib

        matplotlib.use("Agg")
        from matplotlib import pyplot

        first = int(self.shop.opened.timestamp())
        shown = [row for row in minutes if row.at >= first]
        times = sorted({row.at for row in shown})
        series = {
            category: [sum(row.revenue for row in shown if row.at == at and row.category == category) for at in times]
            for category in COLORS
        }
        figure, axes = pyplot.subplots(figsize=(10, 4.8), layout="constrained")
        axes.stackplot(
            [(at - first) / 60 for at in times],
            *series.values(),
            labels=list(series),
            colors=list(COLORS.values()),
            alpha=0.9,
        )
        axes.set_title("Revenue per minute of event time", loc="left", fontweight="bold")
        axes.set_xlabel(f"minutes since {self.shop.opened:%H:%M}")
        axes.set_ylabel("revenue")
        axes.yaxis.set_major_formatter(lambda value, _: f"{value:,.0f}")
        axes.spines[["top", "right"]].set_visible(False)
        axes.margins(x=0)
        axes.set_ylim(bottom=0)
        handles, labels = axes.get_legend_handles_labels()
        axes.legend(handles[::-1], labels[::-1], loc="upper left", bbox_to_anchor=(1, 1), frameon=False)
        figure.savefig(self.home / "revenue.png", dpi=120)
        pyplot.close(figure)
        self.console.print(f"[bold green]✓[/] chart: {_shown(self.home / 'revenue.png')}")

    def _next(self) -> None:
        checkpoint = self.home / "checkpoints" / "enrich" / "offsets"
        last = max(checkpoint.glob("[0-9]*"), key=lambda path: int(path.name))
        offsets = json.loads(last.read_text().splitlines()[-1])
        self.console.print(f"  checkpoint of query enrich: {json.dumps(offsets)}")
        self.console.print("\n[bold]Try next")
        for command, why in NEXT.items():
            self.console.print(f"  {command:<72} {why}", soft_wrap=True)


def _shown(path: Path) -> str:
    return str(path.relative_to(path.parents[1]))
