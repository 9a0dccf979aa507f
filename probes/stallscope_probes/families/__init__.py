"""One probe family a module; `stallscope_probes.catalogue` finds them."""
