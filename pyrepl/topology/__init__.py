"""What the INFO texts of some nodes say about all of them: who follows whom, how far behind, and is all well.

Knows Redis, Valkey and pyrepl by their INFO alone, so it needs no other room. Asking is done in cli/asking.py, the
screen in cli/status.py.

    facts.py      one INFO text -> Facts
    walk.py       whom to ask next, until nobody is left
    tree.py       a finished walk -> the tree, with lag and what a cut may cost
    problems.py   what is wrong with a node of the tree
    rows.py       the tree as lines of cells, for people
    document.py   the tree as JSON, for programs
"""
