"""Reads a dashboard with Grafana's own types and writes it again; prints what was lost on the way."""

import json
import sys

from grafana_foundation_sdk.cog.encoder import JSONEncoder
from grafana_foundation_sdk.cog.plugins import register_default_plugins
from grafana_foundation_sdk.models import dashboard


def lost(before, after, path=""):
    if isinstance(before, dict) and isinstance(after, dict):
        for key, value in before.items():
            if key in after:
                yield from lost(value, after[key], f"{path}.{key}")
            else:
                yield f"{path}.{key}"
    elif isinstance(before, list) and isinstance(after, list) and len(before) == len(after):
        for index, pair in enumerate(zip(before, after)):
            yield from lost(*pair, f"{path}[{index}]")
    elif before != after:
        yield f"{path}: {before!r} became {after!r}"


register_default_plugins()
with open(sys.argv[1], encoding="utf-8") as file:
    written = json.load(file)
read = dashboard.Dashboard.from_json(written)
again = json.loads(JSONEncoder(sort_keys=True).encode(read))
print(json.dumps({"lost": list(lost(written, again)), "panels": [panel.type_val for panel in read.panels]}))
