"""The shop of the demo: products, and a stream of orders and clicks with late and broken records among them.

Half an hour of business passes in half a minute. Everything follows from the seed.
"""

from __future__ import annotations

import json
import random
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

CATALOGUE = {
    "coffee": [
        ("Harar Longberry", 14.5),
        ("Antigua Reserve", 16.0),
        ("Sumatra Lintong", 13.0),
        ("House Espresso", 9.9),
    ],
    "tea": [("Gyokuro", 24.0), ("First Flush Darjeeling", 18.5), ("Lapsang Souchong", 11.0)],
    "chocolate": [("Piura 75 %", 6.8), ("Sea Salt Caramel", 5.2), ("Single Estate 90 %", 7.5)],
    "equipment": [("Hand Grinder", 89.0), ("Gooseneck Kettle", 64.0), ("Siphon", 119.0), ("Ceramic Dripper", 21.0)],
}
#: How often each category is bought, and how strongly that swings over the half hour.
DEMAND = {"coffee": (5.0, 0.3), "tea": (2.5, 0.5), "chocolate": (3.5, 0.6), "equipment": (0.7, 0.4)}


@dataclass(frozen=True)
class Product:
    sku: str
    name: str
    category: str
    price: float

    def row(self) -> tuple[str, str]:
        return self.sku, json.dumps(
            {"sku": self.sku, "name": self.name, "category": self.category, "price": self.price}
        )


def products() -> list[Product]:
    rows = [(category, name, price) for category, entries in CATALOGUE.items() for name, price in entries]
    return [Product(f"sku-{number:02}", name, category, price) for number, (category, name, price) in enumerate(rows)]


@dataclass
class Shop:
    """Makes events; `seconds` of wall-clock time are as many minutes of business."""

    seed: int = 7
    orders_per_second: int = 400
    clicks_per_order: int = 3
    opened: datetime = datetime(2026, 11, 15, 9, 0, tzinfo=UTC)
    sent: dict[str, int] = field(default_factory=lambda: {"orders": 0, "late": 0, "broken": 0, "clicks": 0})

    def __post_init__(self) -> None:
        self._rng = random.Random(self.seed)
        self._products = products()

    def second(self, number: int) -> tuple[list[tuple[str, str]], list[tuple[str, str]]]:
        """The (key, value) pairs of orders and of clicks that arrive in this second."""
        orders = [self._order(number) for _ in range(self.orders_per_second)]
        clicks = [self._click(number) for _ in range(self.orders_per_second * self.clicks_per_order)]
        return orders, clicks

    def _order(self, number: int) -> tuple[str, str]:
        customer = f"c-{self._rng.randrange(2000):04}"
        chance = self._rng.random()
        at = self._moment(number)
        product = self._choose(number)
        order = {
            "order_id": f"o-{self.sent['orders'] + self.sent['broken']:07}",
            "customer": customer,
            "sku": product.sku,
            "quantity": 1 + int(self._rng.expovariate(1.2)),
            "at": at.isoformat(),
        }
        if chance < 0.01:
            self.sent["broken"] += 1
            return customer, self._broken(order)
        if chance < 0.04:
            self.sent["late"] += 1
            order["at"] = (at - timedelta(minutes=self._rng.uniform(2, 30))).isoformat()
        self.sent["orders"] += 1
        return customer, json.dumps(order)

    def _broken(self, order: dict[str, object]) -> str:
        """Cut off, of a product that does not exist, or of none."""
        whole = json.dumps(order)
        return self._rng.choice(
            [
                whole[: self._rng.randrange(5, 40)],
                json.dumps({**order, "sku": "sku-99"}),
                json.dumps({**order, "quantity": 0}),
            ]
        )

    def _click(self, number: int) -> tuple[str, str]:
        self.sent["clicks"] += 1
        customer = f"c-{self._rng.randrange(2000):04}"
        product = self._rng.choice(self._products)
        return customer, json.dumps({"customer": customer, "sku": product.sku, "at": self._moment(number).isoformat()})

    def _moment(self, number: int) -> datetime:
        return self.opened + timedelta(minutes=number + self._rng.random())

    def _choose(self, number: int) -> Product:
        weights = []
        for product in self._products:
            base, swing = DEMAND[product.category]
            weights.append(base * (1 + swing * _wave(number / 15 + ord(product.category[1]) / 7)))
        return self._rng.choices(self._products, weights)[0]


def _wave(turns: float) -> float:
    """A smooth swing between -1 and 1."""
    part = turns % 1.0
    return 1 - 4 * abs(part - 0.5)
