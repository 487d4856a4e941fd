"""Faults at random on a real control plane with two operators: `make chaos SEED=… ROUNDS=…`.

Each round changes some XApps and injects one fault at the same time. Then it waits until every XApp is as its spec
says, and looks for what was lost: values, history, objects, helm processes. The draw of a round depends on the seed and
on its number only, so that one round can be repeated; what the fault hits also depends on the time.
"""
