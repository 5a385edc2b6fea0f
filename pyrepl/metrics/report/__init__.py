"""What people and other programs get of the metrics: a page with charts, a summary for the terminal, JSON, OpenMetrics.

Everything here is a function of the result tables (results.py), free of Spark. The tables are collected by the job.

page        the page: troubles (its head), charts, lines, what_ifs (drawn), listing (tables), queries (the charts' SQL)
terminal, as_json, openmetrics, otlp, monitoring    other forms; a dashboard and alert rules
columns     rows that take the memory of their values alone
model, summary, words, library     rows, sums of them, numbers and codes in words, the charts' JavaScript
"""
