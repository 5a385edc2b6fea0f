"""What replication costs, answered from logs: pyrepl's event log and the text logs of pyrepl, Redis and Valkey.

tables, results   every table and column with its unit and its exact rule; read these first
    column, kinds    what a column is; what can happen to a link
sentences         what the lines of text logs mean
    lines, blocks, textlines, jsonlines, part    a range of a file becomes Parquet parts; plain Arrow, no Spark
plan, manifest    which ranges are new; what has been read
    ingest        Spark's tasks read what is new
story, stitch, skew                              which lines are one sync, which ends are one sync, how clocks stand
    ends, attempts, syncs, rates, advice         Spark's expressions, from events to results
jobs              all of it: analyse() and summary()
session           Spark, quiet and cleaned up behind
report/           how results are shown
"""
