"""What a node says about itself."""
