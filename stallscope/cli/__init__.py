"""The command line: one module a command.

A module here whose name has no leading underscore is a command of that name and holds it as `command`
(a `click.Command`). It may return an exit code. It imports heavy libraries inside the function that needs them:
`stallscope --help` imports every command module and has to stay under a quarter of a second.
"""
