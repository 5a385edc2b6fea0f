"""Commands on the type stream: XADD and its kin. Change streams are another thing (`pyrepl.changes`)."""
