"""Permission rules: how they are written, what they match, and the policy that decides by them (X4, B7)."""
