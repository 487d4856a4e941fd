const { pathname, search } = window.location

/** The address with which this tab was opened: the router rewrites it before a page sees a bad parameter. */
export const firstAddress = { pathname: pathname.replace(/\/+$/, ''), query: search }
