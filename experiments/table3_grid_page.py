"""Page of Table 3 with the wide grid."""
