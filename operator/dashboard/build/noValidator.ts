/** Stands for @rjsf/validator-ajv8, which is not installed: @rjsf/core imports it for tests of its own. */
export default null
