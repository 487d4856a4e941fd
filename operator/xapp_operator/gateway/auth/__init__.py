"""Who a caller is and what they may do: tokens, access reviews, session cookies and their keys."""
