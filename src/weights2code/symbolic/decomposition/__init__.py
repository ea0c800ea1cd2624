"""Rules taken apart: y = F(s(A), rest), found from which rows no context tells apart."""
