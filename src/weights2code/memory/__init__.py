"""Hidden finite state: what the outputs so far do not show, merged from the rows and learned as one output
more."""
