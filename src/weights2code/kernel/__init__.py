"""The kernel: the only room that says `proved` (`claims.check`). Everything else proposes."""
