"""The timeline for other tools: Perfetto traces, CSV and Parquet tables."""
