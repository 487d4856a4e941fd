// @vitest-environment node
import { expect, it } from 'vitest'

import { parseUnifiedDiff } from './unifiedDiff'

const DIFF = `--- a/apps/v1 Deployment ric/web
+++ b/apps/v1 Deployment ric/web
@@ -1,3 +1,2 @@
 spec:
--- looks like a header
-  replicas: 1
+  replicas: 2
--- /dev/null
+++ b/v1 Service ric/web
@@ -0,0 +1 @@
+kind: Service
--- a/v1 ConfigMap ric/old
+++ /dev/null
@@ -1 +0,0 @@
-kind: ConfigMap
`

it('reads a diff object by object', () => {
  const objects = parseUnifiedDiff(DIFF)
  expect(objects.map(({ name, change }) => [name, change])).toEqual([
    ['apps/v1 Deployment ric/web', 'change'],
    ['v1 Service ric/web', 'create'],
    ['v1 ConfigMap ric/old', 'remove'],
  ])
  expect(objects[0]?.lines.map(({ kind }) => kind)).toEqual(['hunk', 'same', 'out', 'out', 'in'])
  expect(objects[0]?.lines[2]?.text).toBe('-- looks like a header')
})

it('survives a text that is no diff', () => {
  expect(parseUnifiedDiff('nothing\n--- a\n')).toEqual([])
  expect(parseUnifiedDiff('')).toEqual([])
})
