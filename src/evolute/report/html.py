"""The report: one HTML file that holds everything it needs and opens without a network."""

from __future__ import annotations

import base64
import html
import json
from collections.abc import Mapping
from importlib import resources

from evolute.core.order import Json
from evolute.report.data.member_page import member_page
from evolute.report.data.page import page_data
from evolute.runs.turns import TurnTable

SCRIPTS = ("charts.js", "run.js", "member.js", "report.js")


def report(table: TurnTable, videos: Mapping[int, bytes] | None = None) -> str:
    """The pages of one run and its members; `videos` are GIFs of members."""
    pages = [member_page(table, slot) for slot in range(table.size)]
    for slot, video in (videos or {}).items():
        pages[slot]["video"] = f"data:image/gif;base64,{base64.b64encode(video).decode()}"
    data = {**page_data(table), "pages": pages}
    return page(f"{table.name} – Evolute", data, scripts=[asset(name) for name in SCRIPTS])


def page(title: str, data: Json, *, scripts: list[str]) -> str:
    """A page with its style, its scripts and its data inside it; nothing in the data can end the script that holds it."""
    policy = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data:"
    return "\n".join(
        [
            "<!doctype html>",
            '<html lang="en"><head><meta charset="utf-8">',
            f'<meta http-equiv="Content-Security-Policy" content="{policy}">',
            '<meta name="viewport" content="width=device-width, initial-scale=1"><link rel="icon" href="data:,">',
            f"<title>{html.escape(title)}</title>",
            f"<style>{asset('style.css')}</style></head>",
            "<body><main></main>",
            f'<script type="application/json" id="data">{embedded(data)}</script>',
            *(f"<script>{script}</script>" for script in scripts),
            "</body></html>\n",
        ]
    )


def embedded(data: Json) -> str:
    """JSON that can stand inside a script element."""
    text = json.dumps(data, separators=(",", ":"), allow_nan=False)
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def asset(name: str) -> str:
    """A script or style that comes with the package."""
    return (resources.files("evolute.report") / "web" / name).read_text(encoding="utf-8")
