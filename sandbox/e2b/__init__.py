"""What the E2B client needs: the shape of a provider's sandbox, and its bounded output."""
