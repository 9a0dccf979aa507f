"""Data the scripts of the pages ask for, beside Dash's callbacks."""
