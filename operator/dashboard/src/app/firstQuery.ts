/** The query with which this tab was opened: the router rewrites the address before a page sees a bad parameter. */
export const firstQuery = window.location.search
