// Generated from the schema of the settings by `npm run docs`.

/** The settings, the same tree that the settings file holds. What is left out, or `undefined`, has its default. */
export interface PortcullisSettings {
  readonly http?:
    | {
        /** Address to listen on; `0.0.0.0` or `::` for all. Default: `127.0.0.1`. */
        readonly host?: string | undefined
        /** Port to listen on; `0` takes any free one and prints it. From 0 to 65535. Default: `3000`. */
        readonly port?: number | undefined
        /**
         * Origin under which browsers reach the service. Default: `http://localhost:<port>` on loopback,
         * elsewhere required.
         */
        readonly publicUrl?: string | undefined
        /**
         * Origins of front ends that may call the service with credentials (CORS). Never `*` or `null`.
         * Default: none.
         */
        readonly allowedOrigins?: readonly string[] | undefined
        /**
         * Connections at a time. At the limit the service closes idle connections; if none is idle, it refuses
         * new ones. From 1 to 1000000. Default: `10000`.
         */
        readonly maxConnections?: number | undefined
        /**
         * A connection whose client reads no byte of an answer for this time is closed. From 1 to 3600.
         * Default: `20`.
         */
        readonly writeTimeoutSeconds?: number | undefined
      }
    | undefined
  /**
   * Folder of the SQLite file and of the generated secret, from where the service is started. Default:
   * `./data`.
   */
  readonly dataFolder?: string | undefined
  /**
   * Master secret, at least 32 bytes, from which all keys are derived: `openssl rand -base64 32`.
   * Default: generated into the data folder with users in `memory` or `sqlite`, otherwise required.
   */
  readonly secret?: string | undefined
  readonly stores?:
    | {
        readonly users?:
          | {
              /** Where users are kept. One of `memory`, `sqlite`, `mongo`. Default: `sqlite`. */
              readonly kind?: 'memory' | 'sqlite' | 'mongo' | undefined
              /** Address of a store that is a server of its own. Default: none. */
              readonly url?: string | undefined
            }
          | undefined
        readonly sessions?:
          | {
              /** Where sessions are kept. One of `memory`, `sqlite`, `mongo`, `redis`. Default: as users. */
              readonly kind?: 'memory' | 'sqlite' | 'mongo' | 'redis' | undefined
              /** Address of a store that is a server of its own. Default: the users' one where the kind is the same. */
              readonly url?: string | undefined
              /**
               * (redis) What every key begins with: deployments that share a server need one each. Default:
               * `portcullis:`; `portcullis:<tenant>:` for a tenant that inherits the address.
               */
              readonly prefix?: string | undefined
            }
          | undefined
        readonly tokens?:
          | {
              /** Where one-time tokens are kept. One of `memory`, `sqlite`, `mongo`, `redis`. Default: as users. */
              readonly kind?: 'memory' | 'sqlite' | 'mongo' | 'redis' | undefined
              /** Address of a store that is a server of its own. Default: the users' one where the kind is the same. */
              readonly url?: string | undefined
              /**
               * (redis) What every key begins with: deployments that share a server need one each. Default:
               * `portcullis:`; `portcullis:<tenant>:` for a tenant that inherits the address.
               */
              readonly prefix?: string | undefined
            }
          | undefined
      }
    | undefined
  readonly backends?:
    | {
        readonly [name: string]: {
          /** `false` removes the backend. Default: `true`. */
          readonly enabled?: boolean | undefined
          /** Path in front of the routes. Default: `/auth/<name>`. */
          readonly prefix?: string | undefined
          /** Its login refuses users whose address is not verified. Default: `false`. */
          readonly requiresVerification?: boolean | undefined
          /** How the credential travels. */
          readonly transport?:
            | {
                readonly kind?: 'bearer' | undefined
              }
            | {
                readonly kind?: 'cookie' | undefined
                /**
                 * Name of the cookie. A `__Host-` name makes browsers refuse a cookie that another host has set.
                 * Default: `__Host-session`.
                 */
                readonly name?: string | undefined
                /** Sent over HTTPS only (and to localhost). Default: `true`. */
                readonly secure?: boolean | undefined
                /** Out of reach of scripts in the page. Default: `true`. */
                readonly httpOnly?: boolean | undefined
                /**
                 * With `none` other sites may send it; requests of theirs that change something are still refused. One
                 * of `lax`, `strict`, `none`. Default: `lax`.
                 */
                readonly sameSite?: 'lax' | 'strict' | 'none' | undefined
                /** Path below which browsers send it. Default: `/`. */
                readonly path?: string | undefined
                /**
                 * Shares the cookie with the subdomains of this domain. Not with a `__Host-` name. Default: the host
                 * alone.
                 */
                readonly domain?: string | undefined
              }
            | undefined
          /** What the credential is. */
          readonly strategy?:
            | {
                readonly kind?: 'jwt' | undefined
                /**
                 * The claim `aud`: written into a token, and demanded of one that is presented. Default:
                 * `portcullis:auth`.
                 */
                readonly audience?: string | undefined
                /** Life of a token. From 1 to 34560000. Default: `3600`. */
                readonly lifetimeSeconds?: number | undefined
              }
            | {
                readonly kind?: 'stored' | undefined
                /** Life of a session, however often it is used. From 1 to 34560000. Default: `2592000`. */
                readonly lifetimeSeconds?: number | undefined
                /**
                 * Life of a session that is not used; it ends after `lifetimeSeconds` in any case. From 1 to 34560000.
                 * Default: `86400`.
                 */
                readonly idleSeconds?: number | undefined
              }
            | undefined
        }
      }
    | undefined
  readonly routers?:
    | {
        readonly register?:
          | {
              /** Registration: `POST /register`. Default: `true`. */
              readonly enabled?: boolean | undefined
              /** Path in front of the routes. Default: `/auth`. */
              readonly prefix?: string | undefined
            }
          | undefined
        readonly resetPassword?:
          | {
              /** Forgotten passwords: `POST /forgot-password`, `POST /reset-password`. Default: `true`. */
              readonly enabled?: boolean | undefined
              /** Path in front of the routes. Default: `/auth`. */
              readonly prefix?: string | undefined
            }
          | undefined
        readonly verify?:
          | {
              /** Verification of e-mail addresses: `POST /request-verify-token`, `POST /verify`. Default: `true`. */
              readonly enabled?: boolean | undefined
              /** Path in front of the routes. Default: `/auth`. */
              readonly prefix?: string | undefined
            }
          | undefined
        readonly users?:
          | {
              /**
               * Reading, changing and deleting users: `GET /me`, `PATCH /me`, `GET /me/oauth-accounts`, `GET
               * /:user_id`, `PATCH /:user_id`, `DELETE /:user_id`. Default: `true`.
               */
              readonly enabled?: boolean | undefined
              /** Path in front of the routes. Default: `/users`. */
              readonly prefix?: string | undefined
            }
          | undefined
      }
    | undefined
  readonly providers?:
    | {
        readonly [name: string]: {
          /** What the provider calls this service. Default: required in a new entry. */
          readonly clientId?: string | undefined
          /** `false` removes the provider. Default: `true`. */
          readonly enabled?: boolean | undefined
          /** Path in front of the routes. Default: `/auth/<name>`. */
          readonly prefix?: string | undefined
          /** Path in front of the routes that link accounts. Default: `/auth/associate/<name>`. */
          readonly associatePrefix?: string | undefined
          /** Whose login response a successful callback is. Default: the first one. */
          readonly backend?: string | undefined
          /**
           * Links to the user with the same address, where both the provider and we have verified it. Default:
           * `false`.
           */
          readonly associateByEmail?: boolean | undefined
          /** New users count as verified, where the provider vouches for the address. Default: `false`. */
          readonly verifiedByDefault?: boolean | undefined
          /** Refuses users whose address is not verified. Default: `false`. */
          readonly requiresVerification?: boolean | undefined
          readonly redirects?:
            | {
                /** Where a login goes on to, in place of a JSON answer. Default: none. */
                readonly success?: string | undefined
                /** Where linking goes on to, in place of a JSON answer. Default: none. */
                readonly linked?: string | undefined
                /** Where a refusal goes on to, with `?error=` and what would have been `detail`. Default: none. */
                readonly failure?: string | undefined
              }
            | undefined
          /** Page of the front end that calls our callback by fetch. Default: our callback. */
          readonly redirectUrl?: string | undefined
          /** The same for linking. Default: our callback for linking. */
          readonly redirectUrlAssociate?: string | undefined
        } & (
          | {
              readonly kind?: 'oauth2' | undefined
              /** Given by the provider. Default: required in a new entry. */
              readonly clientSecret?: string | undefined
              /** What may be asked for. All of it is when a request names none. Default: none. */
              readonly scopes?: readonly string[] | undefined
              /** Where the browser is sent. Default: required in a new entry. */
              readonly authorizeUrl?: string | undefined
              /** Where a code becomes a token. Default: required in a new entry. */
              readonly tokenUrl?: string | undefined
              /** Where the token shows who came. Default: required in a new entry. */
              readonly profileUrl?: string | undefined
              readonly profile?:
                | {
                    /** Where the profile has what never changes of an account. Default: `id`. */
                    readonly accountId?: string | undefined
                    /** Where the profile has an address. Default: `email`. */
                    readonly email?: string | undefined
                    /** Where the profile vouches for the address, by `true`. Default: `email_verified`. */
                    readonly emailVerified?: string | undefined
                    /** The provider names accounts by numbers. Default: `false`. */
                    readonly integerAccountId?: boolean | undefined
                  }
                | undefined
              /** Between two scopes. One of ` `, `,`. Default: ` `. */
              readonly scopeSeparator?: ' ' | ',' | undefined
              /**
               * How we authenticate at the token endpoint: HTTP Basic, or id and secret in the body. One of `basic`,
               * `post`. Default: `basic`.
               */
              readonly clientAuthentication?: 'basic' | 'post' | undefined
              /** The `iss` of its answers (RFC 9207). Default: not compared. */
              readonly issuer?: string | undefined
            }
          | {
              readonly kind?: 'openid-connect' | undefined
              /** Given by the provider. Default: required in a new entry. */
              readonly clientSecret?: string | undefined
              /** What may be asked for. All of it is when a request names none. Default: `openid,email`. */
              readonly scopes?: readonly string[] | undefined
              /** The address below which `/.well-known/openid-configuration` lies. Default: required in a new entry. */
              readonly issuer?: string | undefined
              /**
               * How we authenticate at the token endpoint: HTTP Basic, or id and secret in the body. One of `basic`,
               * `post`. Default: as the provider says it can.
               */
              readonly clientAuthentication?: 'basic' | 'post' | undefined
            }
          | {
              readonly kind?: 'apple' | undefined
              /** What may be asked for. All of it is when a request names none. Default: `openid,email`. */
              readonly scopes?: readonly string[] | undefined
              /** The team that the Services ID belongs to. Default: required in a new entry. */
              readonly teamId?: string | undefined
              /** The name of the private key. Default: required in a new entry. */
              readonly keyId?: string | undefined
              /** Signs the client secrets. Default: required in a new entry. */
              readonly privateKey?: string | undefined
            }
          | {
              readonly kind?: 'discord' | undefined
              /** Given by the provider. Default: required in a new entry. */
              readonly clientSecret?: string | undefined
              /** What may be asked for. All of it is when a request names none. Default: `identify,email`. */
              readonly scopes?: readonly string[] | undefined
            }
          | {
              readonly kind?: 'facebook' | undefined
              /** Given by the provider. Default: required in a new entry. */
              readonly clientSecret?: string | undefined
              /** What may be asked for. All of it is when a request names none. Default: `email,public_profile`. */
              readonly scopes?: readonly string[] | undefined
            }
          | {
              readonly kind?: 'franceconnect' | undefined
              /** Given by the provider. Default: required in a new entry. */
              readonly clientSecret?: string | undefined
              /** What may be asked for. All of it is when a request names none. Default: `openid,email`. */
              readonly scopes?: readonly string[] | undefined
              /** Which FranceConnect is asked. One of `production`, `integration`. Default: `production`. */
              readonly environment?: 'production' | 'integration' | undefined
            }
          | {
              readonly kind?: 'github' | undefined
              /** Given by the provider. Default: required in a new entry. */
              readonly clientSecret?: string | undefined
              /** What may be asked for. All of it is when a request names none. Default: `user:email`. */
              readonly scopes?: readonly string[] | undefined
            }
          | {
              readonly kind?: 'gitlab' | undefined
              /** Given by the provider. Default: required in a new entry. */
              readonly clientSecret?: string | undefined
              /** What may be asked for. All of it is when a request names none. Default: `openid,email`. */
              readonly scopes?: readonly string[] | undefined
              /** The address of GitLab, which may be your own. Default: `https://gitlab.com`. */
              readonly url?: string | undefined
            }
          | {
              readonly kind?: 'google' | undefined
              /** Given by the provider. Default: required in a new entry. */
              readonly clientSecret?: string | undefined
              /** What may be asked for. All of it is when a request names none. Default: `openid,email,profile`. */
              readonly scopes?: readonly string[] | undefined
            }
          | {
              readonly kind?: 'kakao' | undefined
              /** Given by the provider. Default: required in a new entry. */
              readonly clientSecret?: string | undefined
              /** What may be asked for. All of it is when a request names none. Default: `account_email`. */
              readonly scopes?: readonly string[] | undefined
            }
          | {
              readonly kind?: 'linkedin' | undefined
              /** Given by the provider. Default: required in a new entry. */
              readonly clientSecret?: string | undefined
              /** What may be asked for. All of it is when a request names none. Default: `openid,profile,email`. */
              readonly scopes?: readonly string[] | undefined
            }
          | {
              readonly kind?: 'microsoft' | undefined
              /** Given by the provider. Default: required in a new entry. */
              readonly clientSecret?: string | undefined
              /** What may be asked for. All of it is when a request names none. Default: `openid,email,profile`. */
              readonly scopes?: readonly string[] | undefined
              /** Whose accounts may sign in. Default: `common`. */
              readonly tenant?: string | undefined
            }
          | {
              readonly kind?: 'naver' | undefined
              /** Given by the provider. Default: required in a new entry. */
              readonly clientSecret?: string | undefined
              /** What may be asked for. All of it is when a request names none. Default: none. */
              readonly scopes?: readonly string[] | undefined
            }
          | {
              readonly kind?: 'okta' | undefined
              /** Given by the provider. Default: required in a new entry. */
              readonly clientSecret?: string | undefined
              /** What may be asked for. All of it is when a request names none. Default: `openid,email,profile`. */
              readonly scopes?: readonly string[] | undefined
              /** The domain of the organisation, e.g. `example.okta.com`. Default: required in a new entry. */
              readonly domain?: string | undefined
              /** A custom authorization server. Default: the organisation's own. */
              readonly authorizationServer?: string | undefined
            }
          | {
              readonly kind?: 'reddit' | undefined
              /** Given by the provider. Default: required in a new entry. */
              readonly clientSecret?: string | undefined
              /** What may be asked for. All of it is when a request names none. Default: `identity`. */
              readonly scopes?: readonly string[] | undefined
            }
          | {
              readonly kind?: 'shopify' | undefined
              /** Given by the provider. Default: required in a new entry. */
              readonly clientSecret?: string | undefined
              /** What may be asked for. All of it is when a request names none. Default: none. */
              readonly scopes?: readonly string[] | undefined
              /** The shop whose staff may sign in. Default: required in a new entry. */
              readonly shop?: string | undefined
            }
        )
      }
    | undefined
  readonly handlers?:
    | {
        /**
         * ES module whose exports are handlers by their names (`on_after_register`, …); `null` in a file for
         * none, where a tenant inherits one. Default: none.
         */
        readonly module?: string | null | undefined
        /**
         * Prints every event, with its tokens, as one JSON line on standard output. Default: on without a
         * module when the host and the public URL are loopback.
         */
        readonly console?: boolean | undefined
        /** A handler that takes longer has failed and is called again. From 0.05 to 3600. Default: `10`. */
        readonly timeoutSeconds?: number | undefined
      }
    | undefined
  readonly events?:
    | {
        /**
         * With `off` the service delivers no events and sweeps nothing: `portcullis worker` does both. One of
         * `on`, `off`. Default: `on`.
         */
        readonly relay?: 'on' | 'off' | undefined
        /**
         * So long after a process was last heard of, others take over what it was delivering. From 3 to 3600.
         * Default: `20`.
         */
        readonly leaseSeconds?: number | undefined
      }
    | undefined
  readonly passwords?:
    | {
        /** Least number of characters of a new password. From 8 to 64. Default: `8`. */
        readonly minLength?: number | undefined
        /**
         * When hashing a password would have to wait longer, the answer is 503 with `Retry-After`. From 0 to
         * 3600. Default: `3`.
         */
        readonly maxWaitSeconds?: number | undefined
        /**
         * Lanes hashing at a time; a hash takes as many as `parallelism` says. From 1 to 1024. Default: by the
         * processors at hand.
         */
        readonly concurrency?: number | undefined
        /** Memory of one argon2id hash, in KiB. From 7168 to 1048576. Default: `19456`. */
        readonly memoryKiB?: number | undefined
        /** Passes of one argon2id hash. From 1 to 99. Default: `2`. */
        readonly timeCost?: number | undefined
        /** Lanes of one argon2id hash. From 1 to 16. Default: `1`. */
        readonly parallelism?: number | undefined
      }
    | undefined
  readonly tokens?:
    | {
        /** Life of a token that resets a password. From 1 to 86400. Default: `900`. */
        readonly resetLifetimeSeconds?: number | undefined
        /** Life of a token that verifies an address. From 1 to 2592000. Default: `86400`. */
        readonly verifyLifetimeSeconds?: number | undefined
      }
    | undefined
  readonly security?:
    | {
        /**
         * A new password or address needs `current_password` or a login younger than this; `0` turns the
         * demand off. From 0 to 34560000. Default: `0`.
         */
        readonly freshLoginSeconds?: number | undefined
        /**
         * Journeys to OAuth providers that may be open at the same time; while so many are, a new one gets 503
         * with `Retry-After`. From 1 to 1000000. Default: `10000`.
         */
        readonly maxOpenJourneys?: number | undefined
      }
    | undefined
  readonly logs?:
    | {
        /**
         * Least level of a line in the log (standard error). One of `fatal`, `error`, `warn`, `info`, `debug`,
         * `trace`, `silent`. Default: `info`.
         */
        readonly level?: 'fatal' | 'error' | 'warn' | 'info' | 'debug' | 'trace' | 'silent' | undefined
        /**
         * Requests that get a line: those that fail or take more than 250 ms, or all. One of `slow`, `all`.
         * Default: `slow`.
         */
        readonly requests?: 'slow' | 'all' | undefined
      }
    | undefined
  readonly docs?:
    | {
        /** Whether `/docs` and `/openapi.json` are served. Default: `true`. */
        readonly enabled?: boolean | undefined
      }
    | undefined
  readonly try?:
    | {
        /**
         * Serves `/try`, a page to try the service on (`examples/browser`), to browsers of this machine: a
         * request with another `Host`, or through a proxy that sends `Forwarded` or `X-Forwarded-*`, is 404.
         * Default: on when the host and the public URL are loopback.
         */
        readonly enabled?: boolean | undefined
      }
    | undefined
  readonly tenants?:
    | {
        /** What tells the tenant of a request. One of `header`, `path`, `host`. Default: there are no tenants. */
        readonly by?: 'header' | 'path' | 'host' | undefined
        /**
         * With `by: "header"`: the header that holds its name. A proxy has to set it, or to drop what callers
         * send. Default: `X-Tenant`.
         */
        readonly header?: string | undefined
        /** With `by: "path"`: `/t/{tenant}` stands before every path. Default: `/t`. */
        readonly pathPrefix?: string | undefined
        /** Folder with a file `<tenant>.json` for each tenant, besides or in place of `list`. Default: none. */
        readonly folder?: string | undefined
        /** The tenants by name, each with the settings in which it differs. Default: none. */
        readonly list?: { readonly [tenant: string]: TenantSettings } | undefined
        /**
         * Tenants that are open at the same time; beyond it the least recently used one is closed. From 1 to
         * 100000. Default: `500`.
         */
        readonly maxOpen?: number | undefined
        /**
         * A tenant without requests for so long is closed, unless it keeps something in `memory`. From 1 to
         * 86400. Default: `300`.
         */
        readonly idleSeconds?: number | undefined
        /**
         * How often closed tenants are opened to look for events that others wrote. From 1 to 86400. Default:
         * `600`.
         */
        readonly scanSeconds?: number | undefined
      }
    | undefined
}

/** The settings of one tenant, in which it differs from the others. */
export interface TenantSettings {
  /** With `by: "host"`: the host names of the tenant. Default: none. */
  readonly hosts?: readonly string[] | undefined
  readonly http?:
    | {
        /**
         * Origin under which browsers reach the service. Default: `http://localhost:<port>` on loopback,
         * elsewhere required.
         */
        readonly publicUrl?: string | undefined
        /**
         * Origins of front ends that may call the service with credentials (CORS). Never `*` or `null`.
         * Default: none.
         */
        readonly allowedOrigins?: readonly string[] | undefined
      }
    | undefined
  /**
   * Folder of the SQLite file and of the generated secret, from where the service is started. Default:
   * `./data`.
   */
  readonly dataFolder?: PortcullisSettings['dataFolder'] | undefined
  /**
   * Master secret, at least 32 bytes, from which all keys are derived: `openssl rand -base64 32`.
   * Default: generated into the data folder with users in `memory` or `sqlite`, otherwise required.
   */
  readonly secret?: PortcullisSettings['secret'] | undefined
  readonly stores?: PortcullisSettings['stores'] | undefined
  readonly backends?: PortcullisSettings['backends'] | undefined
  readonly routers?: PortcullisSettings['routers'] | undefined
  readonly providers?: PortcullisSettings['providers'] | undefined
  readonly handlers?: PortcullisSettings['handlers'] | undefined
  readonly passwords?:
    | {
        /** Least number of characters of a new password. From 8 to 64. Default: `8`. */
        readonly minLength?: number | undefined
        /** Memory of one argon2id hash, in KiB. From 7168 to 1048576. Default: `19456`. */
        readonly memoryKiB?: number | undefined
        /** Passes of one argon2id hash. From 1 to 99. Default: `2`. */
        readonly timeCost?: number | undefined
        /** Lanes of one argon2id hash. From 1 to 16. Default: `1`. */
        readonly parallelism?: number | undefined
      }
    | undefined
  readonly tokens?: PortcullisSettings['tokens'] | undefined
  readonly security?: PortcullisSettings['security'] | undefined
  readonly try?: PortcullisSettings['try'] | undefined
}
