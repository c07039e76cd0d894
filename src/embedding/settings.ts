// Generated from the schema of the settings by `npm run docs`.

/** The settings, the same tree that the settings file holds. What is left out has its default. */
export interface PortcullisSettings {
  readonly http?: {
    /** Address to listen on; `0.0.0.0` or `::` for all. Default: `127.0.0.1`. */
    readonly host?: string
    /** Port to listen on; `0` takes any free one and prints it. From 0 to 65535. Default: `3000`. */
    readonly port?: number
    /**
     * Origin under which browsers reach the service. Default: `http://localhost:<port>` on loopback,
     * elsewhere required.
     */
    readonly publicUrl?: string
    /**
     * Origins of front ends that may call the service with credentials (CORS). Never `*` or `null`.
     * Default: none.
     */
    readonly allowedOrigins?: readonly string[]
  }
  /**
   * Folder of the SQLite file and of the generated secret, from where the service is started. Default:
   * `./data`.
   */
  readonly dataFolder?: string
  /**
   * Master secret, at least 32 bytes, from which all keys are derived: `openssl rand -base64 32`.
   * Default: generated into the data folder with users in `memory` or `sqlite`, otherwise required.
   */
  readonly secret?: string
  readonly stores?: {
    readonly users?: {
      /** Where users are kept. One of `memory`, `sqlite`, `mongo`. Default: `sqlite`. */
      readonly kind?: 'memory' | 'sqlite' | 'mongo'
      /** Address of a store that is a server of its own. Default: none. */
      readonly url?: string
    }
    readonly sessions?: {
      /** Where sessions are kept. One of `memory`, `sqlite`, `mongo`, `redis`. Default: as users. */
      readonly kind?: 'memory' | 'sqlite' | 'mongo' | 'redis'
      /** Address of a store that is a server of its own. Default: the users' one where the kind is the same. */
      readonly url?: string
      /**
       * (redis) What every key begins with: deployments that share a server need one each. Default:
       * `portcullis:`; `portcullis:<tenant>:` for a tenant that inherits the address.
       */
      readonly prefix?: string
    }
    readonly tokens?: {
      /** Where one-time tokens are kept. One of `memory`, `sqlite`, `mongo`, `redis`. Default: as users. */
      readonly kind?: 'memory' | 'sqlite' | 'mongo' | 'redis'
      /** Address of a store that is a server of its own. Default: the users' one where the kind is the same. */
      readonly url?: string
      /**
       * (redis) What every key begins with: deployments that share a server need one each. Default:
       * `portcullis:`; `portcullis:<tenant>:` for a tenant that inherits the address.
       */
      readonly prefix?: string
    }
  }
  readonly backends?: {
    readonly [name: string]: {
      /** `false` removes the backend. Default: `true`. */
      readonly enabled?: boolean
      /** Path in front of the routes. Default: `/auth/<name>`. */
      readonly prefix?: string
      /** Its login refuses users whose address is not verified. Default: `false`. */
      readonly requiresVerification?: boolean
      /** How the credential travels. */
      readonly transport?:
        | {
            readonly kind?: 'bearer'
          }
        | {
            readonly kind?: 'cookie'
            /**
             * Name of the cookie. A `__Host-` name makes browsers refuse a cookie that another host has set.
             * Default: `__Host-session`.
             */
            readonly name?: string
            /** Sent over HTTPS only (and to localhost). Default: `true`. */
            readonly secure?: boolean
            /** Out of reach of scripts in the page. Default: `true`. */
            readonly httpOnly?: boolean
            /**
             * With `none` other sites may send it; requests of theirs that change something are still refused. One
             * of `lax`, `strict`, `none`. Default: `lax`.
             */
            readonly sameSite?: 'lax' | 'strict' | 'none'
            /** Path below which browsers send it. Default: `/`. */
            readonly path?: string
            /**
             * Shares the cookie with the subdomains of this domain. Not with a `__Host-` name. Default: the host
             * alone.
             */
            readonly domain?: string
          }
      /** What the credential is. */
      readonly strategy?:
        | {
            readonly kind?: 'jwt'
            /**
             * The claim `aud`: written into a token, and demanded of one that is presented. Default:
             * `portcullis:auth`.
             */
            readonly audience?: string
            /** Life of a token. From 1 to 34560000. Default: `3600`. */
            readonly lifetimeSeconds?: number
          }
        | {
            readonly kind?: 'stored'
            /** Life of a session, however often it is used. From 1 to 34560000. Default: `2592000`. */
            readonly lifetimeSeconds?: number
            /** Life of a session that is not used. From 1 to 34560000. Default: `86400`. */
            readonly idleSeconds?: number
          }
    }
  }
  readonly routers?: {
    readonly register?: {
      /** Registration: `POST /register`. Default: `true`. */
      readonly enabled?: boolean
      /** Path in front of the routes. Default: `/auth`. */
      readonly prefix?: string
    }
    readonly resetPassword?: {
      /** Forgotten passwords: `POST /forgot-password`, `POST /reset-password`. Default: `true`. */
      readonly enabled?: boolean
      /** Path in front of the routes. Default: `/auth`. */
      readonly prefix?: string
    }
    readonly verify?: {
      /** Verification of e-mail addresses: `POST /request-verify-token`, `POST /verify`. Default: `true`. */
      readonly enabled?: boolean
      /** Path in front of the routes. Default: `/auth`. */
      readonly prefix?: string
    }
    readonly users?: {
      /**
       * Reading, changing and deleting users: `GET /me`, `PATCH /me`, `GET /me/oauth-accounts`, `GET /:id`,
       * `PATCH /:id`, `DELETE /:id`. Default: `true`.
       */
      readonly enabled?: boolean
      /** Path in front of the routes. Default: `/users`. */
      readonly prefix?: string
    }
  }
  readonly providers?: {
    readonly [name: string]: {
      /** What the provider calls this service. Default: required in a new entry. */
      readonly clientId?: string
      /** `false` removes the provider. Default: `true`. */
      readonly enabled?: boolean
      /** Path in front of the routes. Default: `/auth/<name>`. */
      readonly prefix?: string
      /** Path in front of the routes that link accounts. Default: `/auth/associate/<name>`. */
      readonly associatePrefix?: string
      /** Whose login response a successful callback is. Default: the first one. */
      readonly backend?: string
      /**
       * Links to the user with the same address, where both the provider and we have verified it. Default:
       * `false`.
       */
      readonly associateByEmail?: boolean
      /** New users count as verified, where the provider vouches for the address. Default: `false`. */
      readonly verifiedByDefault?: boolean
      /** Refuses users whose address is not verified. Default: `false`. */
      readonly requiresVerification?: boolean
      readonly redirects?: {
        /** Where a login goes on to, in place of a JSON answer. Default: none. */
        readonly success?: string
        /** Where linking goes on to, in place of a JSON answer. Default: none. */
        readonly linked?: string
        /** Where a refusal goes on to, with `?error=CODE`. Default: none. */
        readonly failure?: string
      }
      /** Page of the front end that calls our callback by fetch. Default: our callback. */
      readonly redirectUrl?: string
      /** The same for linking. Default: our callback for linking. */
      readonly redirectUrlAssociate?: string
    } & (
      | {
          readonly kind?: 'oauth2'
          /** Given by the provider. Default: required in a new entry. */
          readonly clientSecret?: string
          /** What may be asked for. All of it is when a request names none. Default: none. */
          readonly scopes?: readonly string[]
          /** Where the browser is sent. Default: required in a new entry. */
          readonly authorizeUrl?: string
          /** Where a code becomes a token. Default: required in a new entry. */
          readonly tokenUrl?: string
          /** Where the token shows who came. Default: required in a new entry. */
          readonly profileUrl?: string
          readonly profile?: {
            /** Where the profile has what never changes of an account. Default: `id`. */
            readonly accountId?: string
            /** Where the profile has an address. Default: `email`. */
            readonly email?: string
            /** Where the profile vouches for the address, by `true`. Default: `email_verified`. */
            readonly emailVerified?: string
            /** The provider names accounts by numbers. Default: `false`. */
            readonly integerAccountId?: boolean
          }
          /** Between two scopes. One of ` `, `,`. Default: ` `. */
          readonly scopeSeparator?: ' ' | ','
          /**
           * How we authenticate at the token endpoint: HTTP Basic, or id and secret in the body. One of `basic`,
           * `post`. Default: `basic`.
           */
          readonly clientAuthentication?: 'basic' | 'post'
          /** The `iss` of its answers (RFC 9207). Default: not compared. */
          readonly issuer?: string
        }
      | {
          readonly kind?: 'openid-connect'
          /** Given by the provider. Default: required in a new entry. */
          readonly clientSecret?: string
          /** What may be asked for. All of it is when a request names none. Default: `openid,email`. */
          readonly scopes?: readonly string[]
          /** The address below which `/.well-known/openid-configuration` lies. Default: required in a new entry. */
          readonly issuer?: string
          /**
           * How we authenticate at the token endpoint: HTTP Basic, or id and secret in the body. One of `basic`,
           * `post`. Default: as the provider says it can.
           */
          readonly clientAuthentication?: 'basic' | 'post'
        }
      | {
          readonly kind?: 'apple'
          /** What may be asked for. All of it is when a request names none. Default: `openid,email`. */
          readonly scopes?: readonly string[]
          /** The team that the Services ID belongs to. Default: required in a new entry. */
          readonly teamId?: string
          /** The name of the private key. Default: required in a new entry. */
          readonly keyId?: string
          /** Signs the client secrets. Default: required in a new entry. */
          readonly privateKey?: string
        }
      | {
          readonly kind?: 'discord'
          /** Given by the provider. Default: required in a new entry. */
          readonly clientSecret?: string
          /** What may be asked for. All of it is when a request names none. Default: `identify,email`. */
          readonly scopes?: readonly string[]
        }
      | {
          readonly kind?: 'facebook'
          /** Given by the provider. Default: required in a new entry. */
          readonly clientSecret?: string
          /** What may be asked for. All of it is when a request names none. Default: `email,public_profile`. */
          readonly scopes?: readonly string[]
        }
      | {
          readonly kind?: 'franceconnect'
          /** Given by the provider. Default: required in a new entry. */
          readonly clientSecret?: string
          /** What may be asked for. All of it is when a request names none. Default: `openid,email`. */
          readonly scopes?: readonly string[]
          /** Which FranceConnect is asked. One of `production`, `integration`. Default: `production`. */
          readonly environment?: 'production' | 'integration'
        }
      | {
          readonly kind?: 'github'
          /** Given by the provider. Default: required in a new entry. */
          readonly clientSecret?: string
          /** What may be asked for. All of it is when a request names none. Default: `user:email`. */
          readonly scopes?: readonly string[]
        }
      | {
          readonly kind?: 'gitlab'
          /** Given by the provider. Default: required in a new entry. */
          readonly clientSecret?: string
          /** What may be asked for. All of it is when a request names none. Default: `openid,email`. */
          readonly scopes?: readonly string[]
          /** The address of GitLab, which may be your own. Default: `https://gitlab.com`. */
          readonly url?: string
        }
      | {
          readonly kind?: 'google'
          /** Given by the provider. Default: required in a new entry. */
          readonly clientSecret?: string
          /** What may be asked for. All of it is when a request names none. Default: `openid,email,profile`. */
          readonly scopes?: readonly string[]
        }
      | {
          readonly kind?: 'kakao'
          /** Given by the provider. Default: required in a new entry. */
          readonly clientSecret?: string
          /** What may be asked for. All of it is when a request names none. Default: `account_email`. */
          readonly scopes?: readonly string[]
        }
      | {
          readonly kind?: 'linkedin'
          /** Given by the provider. Default: required in a new entry. */
          readonly clientSecret?: string
          /** What may be asked for. All of it is when a request names none. Default: `openid,profile,email`. */
          readonly scopes?: readonly string[]
        }
      | {
          readonly kind?: 'microsoft'
          /** Given by the provider. Default: required in a new entry. */
          readonly clientSecret?: string
          /** What may be asked for. All of it is when a request names none. Default: `openid,email,profile`. */
          readonly scopes?: readonly string[]
          /** Whose accounts may sign in. Default: `common`. */
          readonly tenant?: string
        }
      | {
          readonly kind?: 'naver'
          /** Given by the provider. Default: required in a new entry. */
          readonly clientSecret?: string
          /** What may be asked for. All of it is when a request names none. Default: none. */
          readonly scopes?: readonly string[]
        }
      | {
          readonly kind?: 'okta'
          /** Given by the provider. Default: required in a new entry. */
          readonly clientSecret?: string
          /** What may be asked for. All of it is when a request names none. Default: `openid,email,profile`. */
          readonly scopes?: readonly string[]
          /** The domain of the organisation, e.g. `example.okta.com`. Default: required in a new entry. */
          readonly domain?: string
          /** A custom authorization server. Default: the organisation's own. */
          readonly authorizationServer?: string
        }
      | {
          readonly kind?: 'reddit'
          /** Given by the provider. Default: required in a new entry. */
          readonly clientSecret?: string
          /** What may be asked for. All of it is when a request names none. Default: `identity`. */
          readonly scopes?: readonly string[]
        }
      | {
          readonly kind?: 'shopify'
          /** Given by the provider. Default: required in a new entry. */
          readonly clientSecret?: string
          /** What may be asked for. All of it is when a request names none. Default: none. */
          readonly scopes?: readonly string[]
          /** The shop whose staff may sign in. Default: required in a new entry. */
          readonly shop?: string
        }
    )
  }
  readonly handlers?: {
    /**
     * ES module whose exports are handlers by their names (`on_after_register`, …); `null` in a file for
     * none, where a tenant inherits one. Default: none.
     */
    readonly module?: string | null
    /**
     * Prints every event, with its tokens, as one JSON line on standard output. Default: on when listening
     * on loopback without a module.
     */
    readonly console?: boolean
    /** A handler that takes longer has failed and is called again. From 0.05 to 3600. Default: `10`. */
    readonly timeoutSeconds?: number
  }
  readonly events?: {
    /**
     * With `off` the service delivers no events and sweeps nothing: `portcullis worker` does both. One of
     * `on`, `off`. Default: `on`.
     */
    readonly relay?: 'on' | 'off'
    /**
     * So long after a process was last heard of, others take over what it was delivering. From 3 to 3600.
     * Default: `20`.
     */
    readonly leaseSeconds?: number
  }
  readonly passwords?: {
    /** Least number of characters of a new password. From 8 to 64. Default: `8`. */
    readonly minLength?: number
    /**
     * When hashing a password would have to wait longer, the answer is 503 with `Retry-After`. From 0 to
     * 3600. Default: `3`.
     */
    readonly maxWaitSeconds?: number
    /**
     * Lanes hashing at a time; a hash takes as many as `parallelism` says. From 1 to 1024. Default: by the
     * processors at hand.
     */
    readonly concurrency?: number
    /** Memory of one argon2id hash, in KiB. From 7168 to 4194304. Default: `19456`. */
    readonly memoryKiB?: number
    /** Passes of one argon2id hash. From 1 to 100. Default: `2`. */
    readonly timeCost?: number
    /** Lanes of one argon2id hash. From 1 to 16. Default: `1`. */
    readonly parallelism?: number
  }
  readonly tokens?: {
    /** Life of a token that resets a password. From 1 to 86400. Default: `900`. */
    readonly resetLifetimeSeconds?: number
    /** Life of a token that verifies an address. From 1 to 2592000. Default: `86400`. */
    readonly verifyLifetimeSeconds?: number
  }
  readonly security?: {
    /**
     * A new password or address needs `current_password` or a login younger than this; `0` turns the
     * demand off. From 0 to 34560000. Default: `0`.
     */
    readonly freshLoginSeconds?: number
  }
  readonly logs?: {
    /**
     * Least level of a line in the log (standard error). One of `fatal`, `error`, `warn`, `info`, `debug`,
     * `trace`, `silent`. Default: `info`.
     */
    readonly level?: 'fatal' | 'error' | 'warn' | 'info' | 'debug' | 'trace' | 'silent'
    /**
     * Requests that get a line: those that fail or take more than 250 ms, or all. One of `slow`, `all`.
     * Default: `slow`.
     */
    readonly requests?: 'slow' | 'all'
  }
  readonly docs?: {
    /** Whether `/docs` and `/openapi.json` are served. Default: `true`. */
    readonly enabled?: boolean
  }
  readonly try?: {
    /**
     * Whether `/try` is served: a page to try the service on, `examples/browser`. Default: on when
     * listening on loopback.
     */
    readonly enabled?: boolean
  }
  readonly tenants?: {
    /** What tells the tenant of a request. One of `header`, `path`, `host`. Default: there are no tenants. */
    readonly by?: 'header' | 'path' | 'host'
    /**
     * With `by: "header"`: the header that holds its name. A proxy has to set it, or to drop what callers
     * send. Default: `X-Tenant`.
     */
    readonly header?: string
    /** With `by: "path"`: `/t/{tenant}` stands before every path. Default: `/t`. */
    readonly pathPrefix?: string
    /** Folder with a file `<tenant>.json` for each tenant, besides or in place of `list`. Default: none. */
    readonly folder?: string
    /** The tenants by name, each with the settings in which it differs. Default: none. */
    readonly list?: { readonly [tenant: string]: TenantSettings }
    /**
     * Tenants that are open at the same time; beyond it the least recently used one is closed. From 1 to
     * 100000. Default: `500`.
     */
    readonly maxOpen?: number
    /**
     * A tenant without requests for so long is closed, unless it keeps something in `memory`. From 1 to
     * 86400. Default: `300`.
     */
    readonly idleSeconds?: number
    /**
     * How often closed tenants are opened to look for events that others wrote. From 1 to 86400. Default:
     * `600`.
     */
    readonly scanSeconds?: number
  }
}

/** The settings of one tenant, in which it differs from the others. */
export interface TenantSettings {
  /** With `by: "host"`: the host names of the tenant. Default: none. */
  readonly hosts?: readonly string[]
  readonly http?: {
    /**
     * Origin under which browsers reach the service. Default: `http://localhost:<port>` on loopback,
     * elsewhere required.
     */
    readonly publicUrl?: string
    /**
     * Origins of front ends that may call the service with credentials (CORS). Never `*` or `null`.
     * Default: none.
     */
    readonly allowedOrigins?: readonly string[]
  }
  /**
   * Folder of the SQLite file and of the generated secret, from where the service is started. Default:
   * `./data`.
   */
  readonly dataFolder?: PortcullisSettings['dataFolder']
  /**
   * Master secret, at least 32 bytes, from which all keys are derived: `openssl rand -base64 32`.
   * Default: generated into the data folder with users in `memory` or `sqlite`, otherwise required.
   */
  readonly secret?: PortcullisSettings['secret']
  readonly stores?: PortcullisSettings['stores']
  readonly backends?: PortcullisSettings['backends']
  readonly routers?: PortcullisSettings['routers']
  readonly providers?: PortcullisSettings['providers']
  readonly handlers?: PortcullisSettings['handlers']
  readonly passwords?: {
    /** Least number of characters of a new password. From 8 to 64. Default: `8`. */
    readonly minLength?: number
    /** Memory of one argon2id hash, in KiB. From 7168 to 4194304. Default: `19456`. */
    readonly memoryKiB?: number
    /** Passes of one argon2id hash. From 1 to 100. Default: `2`. */
    readonly timeCost?: number
    /** Lanes of one argon2id hash. From 1 to 16. Default: `1`. */
    readonly parallelism?: number
  }
  readonly tokens?: PortcullisSettings['tokens']
  readonly security?: PortcullisSettings['security']
  readonly try?: PortcullisSettings['try']
}
