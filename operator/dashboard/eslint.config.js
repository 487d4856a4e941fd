import js from '@eslint/js'
import jsxA11y from 'eslint-plugin-jsx-a11y'
import reactHooks from 'eslint-plugin-react-hooks'
import { defineConfig } from 'eslint/config'
import tseslint from 'typescript-eslint'

const FEATURES = ['xapps', 'deploy', 'xapp', 'repositories', 'services', 'about']

/** What each folder below src/ must not import: features > editor, ui, api > lib. `app` and `main.tsx` import all. */
const LAYERS = {
  'editor/**': ['app', 'features'],
  'ui/**': ['app', 'features', 'editor', 'api'],
  'api/**': ['app', 'features', 'editor', 'ui'],
  'lib/**': ['app', 'features', 'editor', 'ui', 'api'],
  ...Object.fromEntries(
    FEATURES.map((name) => [
      `features/${name}/**`,
      ['app', ...FEATURES.filter((other) => other !== name).map((other) => `features/${other}`)],
    ]),
  ),
}

const HTML_FROM_STRINGS = ['innerHTML', 'outerHTML', 'srcdoc'].map((property) => ({
  selector: `MemberExpression[property.name='${property}'], MemberExpression[property.value='${property}']`,
  message: 'No HTML from strings: build elements, and show texts from outside with <Text>.',
}))

const NO_HTML = {
  'no-restricted-syntax': [
    'error',
    ...HTML_FROM_STRINGS,
    {
      selector:
        "JSXAttribute[name.name=/^(dangerouslySetInnerHTML|srcDoc)$/], Property[key.name=/^(dangerouslySetInnerHTML|innerHTML|outerHTML|srcdoc|srcDoc)$/], CallExpression[callee.property.name='setAttribute'][arguments.0.value=/^(srcdoc|style|on.*)$/i]",
      message: 'No HTML from strings: show texts from outside with <Text>.',
    },
    {
      selector:
        "CallExpression[callee.property.name=/^(insertAdjacentHTML|createContextualFragment|parseFromString|setHTMLUnsafe)$/], CallExpression[callee.object.name='document'][callee.property.name=/^write(ln)?$/]",
      message: 'No HTML from strings.',
    },
    {
      selector:
        "NewExpression[callee.name='Function'], CallExpression[callee.name='eval'], MemberExpression[property.name='eval']",
      message: 'The Content-Security-Policy refuses code from strings.',
    },
    {
      selector: "JSXAttribute[name.name='style'] > Literal",
      message: 'A style attribute from a string is refused by the Content-Security-Policy: use a CSS module.',
    },
  ],
}

export default defineConfig(
  { ignores: ['node_modules/**', '**/*.gen.*', 'eslint.config.js'] },
  js.configs.recommended,
  ...tseslint.configs.strictTypeChecked,
  ...tseslint.configs.stylisticTypeChecked,
  reactHooks.configs.flat.recommended,
  jsxA11y.flatConfigs.strict,
  {
    languageOptions: {
      parserOptions: {
        projectService: true,
        tsconfigRootDir: import.meta.dirname,
      },
    },
    rules: {
      ...NO_HTML,
      'max-lines': ['error', 400],
      'no-console': 'error',
      '@typescript-eslint/restrict-template-expressions': ['error', { allowNumber: true }],
      '@typescript-eslint/no-confusing-void-expression': ['error', { ignoreArrowShorthand: true }],
      '@typescript-eslint/consistent-type-definitions': ['error', 'interface'],
      // The router throws redirects and "not found", which are no errors.
      '@typescript-eslint/only-throw-error': [
        'error',
        { allow: [{ from: 'package', package: '@tanstack/router-core', name: ['Redirect', 'NotFoundError'] }] },
      ],
      'jsx-a11y/no-autofocus': 'off',
    },
  },
  ...Object.entries(LAYERS).map(([files, forbidden]) => ({
    files: [`src/${files}`],
    rules: {
      'no-restricted-imports': [
        'error',
        {
          patterns: [
            { group: forbidden.map((folder) => `~/${folder}/**`), message: 'See the layers in eslint.config.js.' },
            { group: ['../**'], message: 'Import from another folder as ~/folder/module.' },
          ],
        },
      ],
      'no-restricted-syntax': [
        ...NO_HTML['no-restricted-syntax'],
        {
          selector: `ImportExpression > Literal[value=/^(?:\\.\\.\\/|~\\/(?:${forbidden.join('|').replaceAll('/', '\\/')})\\/)/]`,
          message: 'See the layers in eslint.config.js.',
        },
      ],
    },
  })),
  { files: ['build/**'], rules: { 'no-console': 'off' } },
)
