"""The reconciler: observe, plan, act, report. One module a verb in `verbs/`; the decision itself is `domain.plan`."""
