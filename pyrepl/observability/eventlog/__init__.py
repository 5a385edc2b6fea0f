"""The event log: what a node writes for machines, one JSON object a line. The daemon writes it, the metrics read it."""
