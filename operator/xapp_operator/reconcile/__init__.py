"""The reconciler: observe, plan, act, report. The decision is `domain.plan`; `verbs/` has one module per action."""
