"""What Perfetto's own bindings find in a trace."""

import json
import sys
from collections import Counter

from perfetto.protos.perfetto.trace.perfetto_trace_pb2 import Trace, TrackEvent

trace = Trace()
with open(sys.argv[1], "rb") as file:
    trace.ParseFromString(file.read())

tracks = {}
last = {}
backwards = []
unnested = []
open_slices = Counter()
slices = Counter()
instants = Counter()
highest = {}
unknown = 0
for packet in trace.packet:
    if packet.HasField("track_descriptor"):
        tracks[packet.track_descriptor.uuid] = packet.track_descriptor
    if not packet.HasField("track_event"):
        continue
    event = packet.track_event
    track = event.track_uuid
    unknown += track not in tracks
    if packet.timestamp < last.get(track, 0):
        backwards.append(tracks[track].name)
    last[track] = packet.timestamp
    if event.type == TrackEvent.TYPE_COUNTER:
        assert tracks[track].HasField("counter")
        highest[tracks[track].name] = max(highest.get(tracks[track].name, 0), event.counter_value)
    elif event.type == TrackEvent.TYPE_SLICE_BEGIN:
        open_slices[track] += 1
        slices[event.categories[0]] += 1
        if open_slices[track] > 1:
            unnested.append(tracks[track].name)
    elif event.type == TrackEvent.TYPE_SLICE_END:
        open_slices[track] -= 1
    elif event.type == TrackEvent.TYPE_INSTANT:
        instants[event.categories[0]] += 1
print(
    json.dumps(
        {
            "highest": highest,
            "slices": slices,
            "instants": instants,
            "backwards": backwards,
            "unnested": unnested,
            "left_open": sum(open_slices.values()),
            "unknown_tracks": unknown,
        }
    )
)
