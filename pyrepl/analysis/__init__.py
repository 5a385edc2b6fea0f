"""The process around the metrics: it starts what reads and answers, ends it, and says what failed in words for people.

What is worked out is pyrepl.metrics, which knows no process; options, progress and text on a terminal are the command
line's.

asked, progress   what is wanted; whoever shows how far it is
needs             the modules and the Java that it takes
archive, charts   Java's classes and the charts' library, kept ready
memory            what is not needed any more goes back to the system
cache             the folder where they are kept
failures          why it cannot be done: errors of Spark, the disk and files, and what to do
place, files      the folder: locked while it is written; its report and results
told              what the user has told Spark
fetch             logs that this machine does not see, copied by Hadoop
spark             Spark, which reads and answers: its start and its end
forks             the process that its Python workers are forked from
workers           those of a cluster: what they lack is sent to them, or told
queries           the result tables, asked in SQL
run, follow       one analysis; one that goes on as the logs grow
"""
