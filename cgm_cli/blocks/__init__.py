"""The mathematics a problem is composed of: domains, losses, penalties, maps, and what passes between them."""
