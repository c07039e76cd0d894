/**
 * Portcullis from a browser: accounts, sessions, and signing in through providers. No dependencies; needs `fetch`.
 *
 * A session is either in a cookie, which no script can read and the browser sends by itself, or a bearer token,
 * which this file keeps in sessionStorage: it ends with the tab, survives the journey to a provider, and can be read
 * by every script of the page. Prefer the cookie where front end and service share a site.
 */
import { Problem, problemOf, unreachable } from './words.js'

const tokenKey = 'portcullis.token'
const journeyKey = 'portcullis.journey'

/**
 * @param {object} config as `try/config.json` has it; in a front end of yours these are constants
 * @param {string} base where the service is, e.g. `https://accounts.example.com`; empty: where this page is from.
 *   Elsewhere, the page's origin has to be among the service's `http.allowedOrigins`.
 */
export function portcullis(config, base = '') {
  const { register, resetPassword, verify, users } = config.routers

  /** The body of the answer, or `null`. Throws a `Problem` for everything that is not a success. */
  async function request(method, path, { json, form } = {}) {
    const headers = {}
    const token = sessionStorage.getItem(tokenKey)
    if (token !== null) headers.Authorization = `Bearer ${token}`
    if (json !== undefined) headers['Content-Type'] = 'application/json'
    const body = json === undefined ? form && new URLSearchParams(form) : JSON.stringify(json)

    let response
    try {
      // `include`: with cookies, also when the service is on another origin.
      response = await fetch(`${base}${path}`, { method, headers, body, credentials: 'include' })
    } catch {
      throw unreachable()
    }
    const isJson = response.headers.get('Content-Type')?.startsWith('application/json') ?? false
    const content = isJson ? await response.json() : null
    if (response.status === 401) sessionStorage.removeItem(tokenKey)
    if (!response.ok) throw problemOf(content?.detail)
    return content
  }

  /** A login answers a bearer token, or 204 and a cookie. */
  function keep(answer) {
    if (answer?.access_token === undefined) sessionStorage.removeItem(tokenKey)
    else sessionStorage.setItem(tokenKey, answer.access_token)
  }

  const providerOf = (name) => config.providers.find((provider) => provider.name === name)
  const prefixOf = (provider, flow) => (flow === 'link' ? provider.associatePrefix : provider.prefix)

  return {
    register: (account) => request('POST', `${register}/register`, { json: account }),

    /** @param {{ prefix: string }} backend @param {{ username: string, password: string }} credentials */
    async logIn(backend, credentials) {
      sessionStorage.removeItem(tokenKey)
      keep(await request('POST', `${backend.prefix}/login`, { form: credentials }))
    },

    /** Any backend's logout ends the very session that the request is made with; a cookie's own removes the cookie. */
    async logOut() {
      const wanted = this.isBearer() ? 'bearer' : 'cookie'
      const backend = config.backends.find(({ transport }) => transport === wanted) ?? config.backends[0]
      await request('POST', `${backend.prefix}/logout`)
      sessionStorage.removeItem(tokenKey)
    },

    isBearer: () => sessionStorage.getItem(tokenKey) !== null,

    /** Who is signed in; `null` for nobody. */
    async me() {
      try {
        return await request('GET', `${users}/me`)
      } catch (problem) {
        if (problem.code !== 'Unauthorized') throw problem
        return null
      }
    },

    update: (changes) => request('PATCH', `${users}/me`, { json: changes }),
    requestVerification: (email) => request('POST', `${verify}/request-verify-token`, { json: { email } }),
    verify: (token) => request('POST', `${verify}/verify`, { json: { token } }),
    forgotPassword: (email) => request('POST', `${resetPassword}/forgot-password`, { json: { email } }),
    resetPassword: (token, password) =>
      request('POST', `${resetPassword}/reset-password`, { json: { token, password } }),

    /** Accounts at providers that are linked. */
    accounts: () => request('GET', `${users}/me/oauth-accounts`),
    unlink: (account) => request('DELETE', `${providerOf(account.oauth_name).associatePrefix}/${account.id}`),

    /**
     * Sends the browser to a provider. What is noted here is there when it comes back to this tab.
     *
     * @param {'login' | 'link'} flow
     * @param {unknown} note given back by `comeBack`
     */
    async leaveFor(provider, flow, note = null) {
      const { authorization_url: url } = await request('GET', `${prefixOf(provider, flow)}/authorize`)
      const state = new URL(url).searchParams.get('state')
      sessionStorage.setItem(journeyKey, JSON.stringify({ provider: provider.name, flow, state, note }))
      location.assign(url)
    },

    /**
     * To be called when the page is loaded: ends a journey to a provider, if there is one. The browser comes
     *
     * - from the service, which has done its part and went on to this page (`redirects` in its settings), or
     * - from the provider itself (`redirectUrl`): then what the provider said is handed to the service's callback,
     *   with the bearer token and the cookies. Only so can a bearer token be had, or its user link an account.
     *
     * Answers the journey, and what went wrong; each `null` where there is none.
     */
    async comeBack() {
      const journey = JSON.parse(sessionStorage.getItem(journeyKey) ?? 'null')
      sessionStorage.removeItem(journeyKey)
      const query = new URLSearchParams(location.search)
      history.replaceState(null, '', location.pathname) // codes and errors neither stay in sight nor in the history

      if (!query.has('state')) return { journey, problem: query.has('error') ? problemOf(query.get('error')) : null }
      // Somebody else's link, to have their account signed in here: the service would refuse it as well.
      const provider = journey?.state === query.get('state') ? providerOf(journey.provider) : undefined
      if (provider === undefined) return { journey: null, problem: problemOf('OAUTH_INVALID_STATE') }
      try {
        const answer = await request('GET', `${prefixOf(provider, journey.flow)}/callback?${query}`)
        if (journey.flow === 'login') keep(answer)
        return { journey, problem: null }
      } catch (problem) {
        return { journey, problem }
      }
    },
  }
}

export { Problem }
