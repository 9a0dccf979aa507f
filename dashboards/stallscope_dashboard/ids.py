"""Every component id of the dashboard: layouts set them, callbacks and the scripts in `assets/` find them."""

from __future__ import annotations

# Shell
URL = "url"
POLL = "poll"
RENDERED = "rendered"
NAVIGATION = "navigation"
CONTENT = "content"
PROGRESS = "progress"

# Timeline (all drawing happens in assets/timeline*.js)
TIMELINE = "timeline"

# Waits
WAITS_GRID = "waits-grid"
WAITS_FILTER = "waits-filter"
WAITS_COUNT = "waits-count"
WAITS_EXPORT = "waits-export"
WAITS_DETAIL = "waits-detail"

# Compare
COMPARE_BASE = "compare-base"
COMPARE_HEAD = "compare-head"
