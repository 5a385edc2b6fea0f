"""What replication costs, answered from logs: pyrepl's event log and the text logs of pyrepl, Redis and Valkey.

tables    every table and column with its unit and its exact rule; read this first
"""
