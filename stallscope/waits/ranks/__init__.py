"""Wait rules that need several ranks of one run; one file a wait class."""
