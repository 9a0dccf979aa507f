"""The dashboard of stallscope."""
