"""What the README's figures come from; each runs on anyone's labelled file."""
