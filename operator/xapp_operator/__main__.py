"""`python -m xapp_operator` is the console script `xapp-operator`."""

from xapp_operator.entry_point import main

if __name__ == "__main__":
    raise SystemExit(main())
