import { dereference, validate, type Schema } from '@cfworker/json-schema'
import type { ValidatorType } from '@rjsf/utils'

/** Each schema by its address. Made once, because the library asks for each branch of each field. */
const addresses = new WeakMap<object, Record<string, Schema | boolean>>()

function addressesOf(root: object): Record<string, Schema | boolean> {
  const known = addresses.get(root)
  if (known) return known
  const found = dereference(root)
  // The form library also asks about copies, whose references have not been made absolute.
  for (const [address, schema] of Object.entries(found)) {
    const fragment = address.indexOf('#')
    found[fragment < 0 ? '#' : address.slice(fragment)] = schema
  }
  addresses.set(root, found)
  return found
}

/**
 * What the form library asks while it builds fields: which branch of `oneOf` fits. The schema has no regular
 * expressions any more. The values are checked by the worker and by the gateway.
 */
export const formValidator: ValidatorType<unknown> = {
  validateFormData: () => ({ errors: [], errorSchema: {} }),
  rawValidation: () => ({ errors: [] }),
  isValid: (schema, formData, root) => {
    try {
      return validate(formData, schema as Schema, '7', addressesOf(root)).valid
    } catch {
      return false
    }
  },
}
