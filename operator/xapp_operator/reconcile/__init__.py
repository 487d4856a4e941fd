"""The reconciler: observe, plan, act, report.

The decision is `domain.planning.plan`; `verbs/` has one module per action.
"""
