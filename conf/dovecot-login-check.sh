#!/bin/sh
# What a Dovecot does when a user has logged in by IMAP, before the session begins: what other machines did is here, and
# mail programs with a cache that come from one of them are told of all of it (docs/mailboxes.md). If that takes longer
# than it may, or fails, the session begins all the same.
#
#   install -D -m 755 conf/dovecot-login-check.sh /usr/local/lib/pyrepl/dovecot-login-check.sh

/opt/pyrepl/bin/pyrepl mailbox check "$USER" --login --timeout 10 --socket /run/pyrepl/mailbox || :
exec "$@"
