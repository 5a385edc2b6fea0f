"""What replication costs, answered from logs: pyrepl's event log and the text logs of pyrepl, Redis and Valkey.

tables, results   every table and column with its unit and its exact rule; read these first
    column, kinds    what a column is; what can happen to a link
sentences         what the lines of text logs mean
    lines, blocks, textlines, jsonlines, part    a range of a file becomes Parquet parts; plain Arrow, no Spark
    together          small ranges of several files become parts of all of them
given, packed     what may be given as a log; what is in a packed one
wanted            what is asked for
plan, manifest    which ranges are new; what has been read
    seen              how the logs lay there then: while they lie so, none is opened
    ingest        all that is new is read and counted in
    reading       Spark's tasks read it, in mapInArrow
follow            logs as they grow, in a stream of Spark's
    source, plans what is new of them as a source of the stream; what a batch reads, so that it can be run again
rollup            what a part comes to, kept beside it; all questions are answered from that
    ends, samples, percentiles                   halves of syncs; values, spans and streams of samples
parts, groups     which rollups, or rows, answer a question; which nodes are analysed together
story, stitch, skew                              which lines are one sync, which ends are one sync, how clocks stand
    candidates        which ends can be of one pair, by index
    stored, rows      rows of many files as a DataFrame; rows of some, for a task
    telling           stories that go on from where a run before has left them
    meets             which nodes can have synced, where no stream's id tells
    attempts, syncs, rates, series, storms, what_if   Polars' expressions, from rollups to results
    what_if_sql                                  costs of masters, other settings for masters and fleets, in SQL
    gather, facts, advice                        what advice goes by, summed up from results; deciding and wording it
    advice_sizes, advice_links, amounts, readers advice on sizes and on links; sizes with headroom; who reads which RDB
answers, asking                                  all that is told of nodes that belong together; Spark asks for it
    shares, near                                 which groups of nodes one task answers for; which files are theirs
    handing, newest                              rows for tasks, a partition each; since when the newest rows are
    base, keep                                   what the next run goes on from: merged parts, stories, answers
fleet_sql         what goes over all nodes: Spark SQL over the answers
spans             samples of all nodes in spans of one width, and the lines that are shown
jobs              all of it: analyse() makes every result table a view of Spark's
shown             how many rows of each a report gets, and which
session           Spark, quiet and cleaned up behind
parquet, versions                                results as files; a new set of them while others read the old one
delta                                            the same as tables of Delta Lake
standing                                         results that stand, as nothing is new: they are shown again
report/           how results are shown
"""
