/**
 * Portcullis in a browser: accounts, sessions, and sign-in through providers. It needs `fetch` and no dependencies.
 *
 * A session is a cookie or a bearer token. The browser sends the cookie by itself, and no script can read it. This file
 * keeps a bearer token in sessionStorage. The token survives the way to a provider and ends with the tab, and every
 * script of the page can read it. Prefer the cookie if front end and service share a site.
 */
import { Problem, problemOf, unreachable } from './words.js'

const tokenKey = 'portcullis.token'
const journeyKey = 'portcullis.journey'

/**
 * @param {object} config routers, backends and providers, in the form of `try/config.json`
 * @param {string} base the address of the service, e.g. `https://accounts.example.com`, or empty for the origin of this
 *   page. For another origin, `http.allowedOrigins` of the service must have the origin of this page.
 */
export function portcullis(config, base = '') {
  const { register, resetPassword, verify, users } = config.routers

  /** Resolves to the JSON body or `null`. Throws a `Problem` if the status is not a success. */
  async function request(method, path, { json, form } = {}) {
    const headers = {}
    const token = sessionStorage.getItem(tokenKey)
    if (token !== null) headers.Authorization = `Bearer ${token}`
    if (json !== undefined) headers['Content-Type'] = 'application/json'
    const body = json === undefined ? form && new URLSearchParams(form) : JSON.stringify(json)

    let response
    try {
      // `include` sends cookies to a service on another origin too.
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

  /** A login answers with a bearer token, or with 204 and a cookie. */
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

    /** Every logout ends the session of its request. Only the logout of a cookie backend also removes the cookie. */
    async logOut() {
      const wanted = this.isBearer() ? 'bearer' : 'cookie'
      const backend = config.backends.find(({ transport }) => transport === wanted) ?? config.backends[0]
      await request('POST', `${backend.prefix}/logout`)
      sessionStorage.removeItem(tokenKey)
    },

    isBearer: () => sessionStorage.getItem(tokenKey) !== null,

    /** The signed-in user, or `null`. */
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

    /** The sessions that the service stores. Bearer tokens are none of them. */
    sessions: () => request('GET', `${users}/me/sessions`),
    endSession: ({ id }) => request('DELETE', `${users}/me/sessions/${id}`),

    /** The linked accounts at providers. */
    accounts: () => request('GET', `${users}/me/oauth-accounts`),
    unlink: (account) => request('DELETE', `${providerOf(account.oauth_name).associatePrefix}/${account.id}`),

    /**
     * Sends the browser to a provider, and stores the journey for its return to this tab.
     *
     * @param {'login' | 'link'} flow
     * @param {unknown} note returned by `comeBack`
     */
    async leaveFor(provider, flow, note = null) {
      const { authorization_url: url } = await request('GET', `${prefixOf(provider, flow)}/authorize`)
      const state = new URL(url).searchParams.get('state')
      sessionStorage.setItem(journeyKey, JSON.stringify({ provider: provider.name, flow, state, note }))
      location.assign(url)
    },

    /**
     * Call this when the page loads. It completes a journey to a provider, if there is one. The browser comes
     *
     * - from the service, which has handled the callback and redirected to this page (`redirects` in its settings), or
     * - from the provider (`redirectUrl`). Then this method passes the query to the callback of the service, with the
     *   bearer token and the cookies. A redirect could not carry a bearer token.
     *
     * Resolves to the journey and the problem; each may be `null`.
     */
    async comeBack() {
      const journey = JSON.parse(sessionStorage.getItem(journeyKey) ?? 'null')
      sessionStorage.removeItem(journeyKey)
      const query = new URLSearchParams(location.search)
      history.replaceState(null, '', location.pathname) // removes codes and errors from the address bar and the history

      if (!query.has('state')) return { journey, problem: query.has('error') ? problemOf(query.get('error')) : null }
      // An attacker may send a link that signs the victim in to the attacker's account. The service refuses it too.
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
