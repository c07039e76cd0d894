// openapi-typescript calls functions of the compiler, which TypeScript 7 does not have. `overrides` in package.json lets npm
// install it beside TypeScript 7, and this hook gives it TypeScript 5.
import { registerHooks } from 'node:module'

registerHooks({
  resolve: (name, context, next) => next(name === 'typescript' ? 'typescript-5' : name, context),
})
