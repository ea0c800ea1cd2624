"""The native search: what every stage shares, and the stages that look for one formula everywhere."""
