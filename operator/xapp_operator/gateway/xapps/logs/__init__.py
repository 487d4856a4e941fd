"""The logs of the containers of an xApp."""
