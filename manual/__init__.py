"""The manual of pyrepl, made from docs/ and from the tables in the code: a site (`make site`) and pages for man(1)."""
