"""The shapes of answers, as the API's documentation states them; one module for each thing that the API speaks of."""
