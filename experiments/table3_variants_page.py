"""Page of the variants of Table 3."""
