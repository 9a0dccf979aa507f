"""One file a wait class. Rules do not import each other; each ends with `RULE = Rule(...)`."""
