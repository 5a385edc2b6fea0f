"""What people and other programs get of the metrics: a page with charts, a summary for the terminal, JSON, OpenMetrics.

Everything here is a function of the result tables (results.py), free of Spark. The tables are collected by the job.
"""
