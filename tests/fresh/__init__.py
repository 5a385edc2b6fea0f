"""`make fresh`: pyrepl on machines that have nothing of ours, each a root of Debian's made by debootstrap."""
