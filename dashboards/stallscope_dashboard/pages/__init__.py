"""One module a page: `layout` makes it from a view and a run, `register` adds its callbacks."""
