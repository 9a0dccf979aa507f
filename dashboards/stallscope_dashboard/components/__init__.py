"""Parts of pages: functions from data to Dash components."""
