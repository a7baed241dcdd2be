"""What HdrHistogram's own reader adds up from an interval log, by tag."""

import json
import sys

from hdrh.histogram import HdrHistogram
from hdrh.log import HistogramLogReader

total = HdrHistogram(1, 1 << 20, 3)
reader = HistogramLogReader(sys.argv[1], total)
tags = {}
while (interval := reader.get_next_interval_histogram()) is not None:
    tag = interval.get_tag()
    tags.setdefault(tag, HdrHistogram(1, 1 << 20, 3)).add(interval)
reader.close()
print(
    json.dumps(
        {
            tag: {"count": sum.get_total_count(), "p50": sum.get_value_at_percentile(50), "max": sum.get_max_value()}
            for tag, sum in tags.items()
        }
    )
)
