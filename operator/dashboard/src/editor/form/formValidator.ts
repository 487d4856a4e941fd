import { Validator } from '@cfworker/json-schema'
import type { ValidatorType } from '@rjsf/utils'

/**
 * What the form library asks while it builds fields: which branch of `oneOf` fits. The schema has no regular
 * expressions any more. The values are checked by the worker and by the gateway.
 */
export const formValidator: ValidatorType<unknown> = {
  validateFormData: () => ({ errors: [], errorSchema: {} }),
  rawValidation: () => ({ errors: [] }),
  isValid: (schema, formData, root) => {
    try {
      const withDefinitions = {
        ...schema,
        ...(root.definitions && { definitions: root.definitions }),
        ...(root.$defs && { $defs: root.$defs }),
      }
      return new Validator(withDefinitions as object, '7').validate(formData).valid
    } catch {
      return false
    }
  },
}
