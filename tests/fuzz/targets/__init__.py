"""One module for each target: `case(rng)` is one case, and raises what is a finding; `ROUNDS_OF` says what for."""
