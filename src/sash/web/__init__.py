"""What the HTTP servers of Sash share: who may use them, where they listen, and how they end."""
