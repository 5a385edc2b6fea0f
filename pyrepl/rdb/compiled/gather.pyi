# All of it is C: other modules of this kind reach it through the `.pxd` beside it, Python not at all.
